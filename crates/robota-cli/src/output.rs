//! Printing. Results go to standard output, everything else to standard error.

use std::borrow::Cow;
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
// Failures are ignored here and in `line`: where standard output is closed there is no place to
// report them. A run that has to notice it uses `try_bytes`.
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
        to_stderr(&format!("\x1b[1;31mrobota:\x1b[0m {}", without_controls(text)));
    } else {
        note(&format!("robota: {text}"));
    }
}

/// Prints lines to standard error. The text may be that of a model, a hook or a server, so nothing in it
/// changes the terminal.
pub(crate) fn note(text: &str) {
    to_stderr(&without_controls(text));
}

#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
fn to_stderr(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints the answer of a model to standard output: as it is into a pipe or a file, and without control
/// characters to a terminal.
#[expect(clippy::disallowed_methods, reason = "the one place that prints")]
pub(crate) fn answer(text: &str) {
    if std::io::stdout().is_terminal() {
        line(&without_controls(text));
    } else {
        line(text);
    }
}

/// Returns the text with its lines, without what changes a terminal.
fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return printable(text);
    }
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    Cow::Owned(lines.join("\n"))
}

/// Prints to standard error what the run does now, so that nothing in it changes the terminal.
pub(crate) fn progress(text: &str) {
    let text = printable(text);
    if colour::on_stderr() {
        to_stderr(&format!("\x1b[2mrobota: {text}\x1b[0m"));
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

#[cfg(test)]
mod tests {
    use super::without_controls;

    #[test]
    fn text_that_is_printed_keeps_its_lines_and_loses_what_changes_a_terminal() {
        assert_eq!(without_controls("one\ntwo\n"), "one\ntwo\n");
        let hostile = "denied `curl \u{1b}]52;c;aGk=\u{7}`\r\nnext\u{202e}";
        assert_eq!(without_controls(hostile), "denied `curl ␛]52;c;aGk=`\nnext");
    }
}
