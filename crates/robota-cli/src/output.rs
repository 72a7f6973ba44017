//! Printing. Results go to standard output, everything else to standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use robota_core::event::ModelRetry;

use crate::colour;
use crate::terminal::printable;

/// Prints a line to standard output. A closed pipe (`robota … | head`) is not an error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Returns a number with its noun, which gets an `s` unless there is one.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Writes bytes to standard output unchanged.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Writes bytes to standard output unchanged.
///
/// # Errors
/// When no process reads standard output.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn try_bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints an error to standard error, with the program's name in front. A text that begins with
/// `Error:` is one that hosts search for, and is printed as it is.
pub(crate) fn error(text: &str) {
    if text.starts_with("Error: ") {
        note(text);
    } else if colour::on_stderr() {
        note(&format!("\x1b[1;31mrobota:\x1b[0m {text}"));
    } else {
        note(&format!("robota: {text}"));
    }
}

/// Prints a line to standard error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints to standard error what the run does now, so that nothing in it changes the terminal.
pub(crate) fn progress(text: &str) {
    let text = printable(text);
    if colour::on_stderr() {
        note(&format!("\x1b[2mrobota: {text}\x1b[0m"));
    } else {
        note(&format!("robota: {text}"));
    }
}

/// Returns whether a person reads standard error.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

/// Prints a question to standard error, without the end of the line.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn prompt(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "{text}");
    let _ = out.flush();
}

/// Reports that a model call failed and will be retried.
pub(crate) fn retry(retry: &ModelRetry) {
    let seconds = Duration::from_millis(retry.delay_ms).as_secs_f64();
    let message = retry.error.message.trim_end_matches('.');
    error(&format!("{message}. Retrying in {seconds:.1} s."));
}
