//! Decides about colour.

use std::io::IsTerminal;

/// Returns whether text on standard output may have colours.
#[expect(clippy::disallowed_methods, reason = "only the program prints")]
pub(crate) fn on_stdout() -> bool {
    is_wanted(&std::io::stdout())
}

/// Returns whether text on standard error may have colours.
#[expect(clippy::disallowed_methods, reason = "only the program prints")]
pub(crate) fn on_stderr() -> bool {
    is_wanted(&std::io::stderr())
}

/// Returns whether the stream is a terminal that shows colours, and the user does not forbid them
/// with `NO_COLOR`.
#[expect(clippy::disallowed_methods, reason = "the program decides about colour, once")]
fn is_wanted(stream: &impl IsTerminal) -> bool {
    // An empty value counts as not set (no-color.org).
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal()
        && variable("NO_COLOR").is_none()
        && variable("TERM").is_none_or(|terminal| terminal != "dumb")
}
