//! The user's editor, and what draws the user's attention.

/// Returns what a terminal gets when the program waits for the user; nothing, unless wanted.
pub(super) fn bytes() -> Option<&'static [u8]> {
    None
}

/// Opens a text in the user's editor and returns what was saved.
pub(super) fn edit(_: &tokio::runtime::Handle, _: &str) -> Result<String, String> {
    Err("no editor".to_owned())
}
