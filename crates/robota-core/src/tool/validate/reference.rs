//! References inside a schema: `{"$ref": "#/$defs/Item"}`.

use serde_json::{Map, Value};

/// Returns the schema that this one refers to, if the whole schema has it.
pub(super) fn target<'a>(root: &'a Value, schema: &Map<String, Value>) -> Option<&'a Value> {
    resolve(root, schema.get("$ref")?.as_str()?)
}

/// Returns the schema at a reference such as `#/$defs/Item`; `#` is the whole schema.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?)?)
}

/// Decodes `%20` and the like: a reference is a URI.
fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
