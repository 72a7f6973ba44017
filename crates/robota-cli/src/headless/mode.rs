//! The permission mode of a run, as arguments and hosts name it.

use robota_core::permission::Mode;

/// Parses the name of a mode. `manual` is another name of `default`.
///
/// # Errors
/// When there is no such mode; the text lists the modes.
pub(crate) fn parse_mode(name: &str) -> Result<Mode, String> {
    if name == "manual" { Ok(Mode::Default) } else { name.parse() }
}
