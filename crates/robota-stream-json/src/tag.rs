//! Types with one value: the `type` and `subtype` of a line.

/// Defines a type that serialises as one text, and whose schema is that constant.
macro_rules! tag {
    ($name:ident, $text:literal) => {
        #[doc = concat!("The text `", $text, "`.")]
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, schemars::JsonSchema,
        )]
        // An enum with one variant, because its derived schema is a constant; that of a unit struct
        // is null.
        pub enum $name {
            #[doc = concat!("`", $text, "`")]
            #[default]
            #[serde(rename = $text)]
            Value,
        }
    };
}

pub(crate) use tag;
