//! Questions on the terminal.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use anyhow::Context as _;

use crate::output;

/// Returns whether a user can answer questions: standard input and standard error are terminals.
#[expect(clippy::disallowed_methods, reason = "only the program asks questions")]
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question and returns the answer; an empty one is replaced by the default.
pub(crate) fn ask(question: &str, default: Option<&str>) -> anyhow::Result<String> {
    match default {
        Some(default) => output::prompt(&format!("{question} [{default}]: ")),
        None => output::prompt(&format!("{question}: ")),
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).context("cannot read the answer")?;
    // Otherwise the default would answer, or the question would be asked without end.
    anyhow::ensure!(read > 0, "no answer: the input has ended");
    let answer = line.trim();
    Ok(match (answer, default) {
        ("", Some(default)) => default.to_owned(),
        (answer, _) => answer.to_owned(),
    })
}

/// Asks for a secret. What is typed is not shown.
pub(crate) fn ask_secret(question: &str) -> anyhow::Result<String> {
    // First hide: what is typed as soon as the question appears is not shown either.
    let hidden = HiddenInput::start().context("cannot hide what is typed")?;
    output::prompt(&format!("{question} (not shown): "));
    let answer = read_hidden_line();
    drop(hidden);
    output::note("");
    answer
}

/// Reads up to the end of a line, byte by byte. Ctrl+C is read as a byte, so that the terminal is
/// restored before the program ends.
fn read_hidden_line() -> anyhow::Result<String> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const ERASE: [u8; 2] = [8, 127];
    let mut bytes = Vec::new();
    for byte in std::io::stdin().lock().bytes() {
        match byte.context("cannot read the answer")? {
            b'\n' | b'\r' => break,
            CTRL_C => anyhow::bail!("interrupted"),
            CTRL_D if bytes.is_empty() => anyhow::bail!("no answer: the input has ended"),
            byte if ERASE.contains(&byte) => {
                bytes.pop();
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).context("the answer is not valid UTF-8")
}

/// Hides what is typed until it is dropped.
struct HiddenInput {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

impl HiddenInput {
    #[cfg(unix)]
    fn start() -> std::io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let before = tcgetattr(std::io::stdin())?;
        let mut hidden = before.clone();
        // Without ISIG, because a signal would end the program while the terminal hides what is
        // typed.
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed before the question is dropped: it was visible, and is no key.
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self { before })
    }

    #[cfg(not(unix))]
    fn start() -> std::io::Result<Self> {
        Err(std::io::Error::other("pipe the key in with --key-stdin instead"))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use rustix::termios::{OptionalActions, tcsetattr};
            // The error is ignored: if the terminal is closed, nothing can be restored.
            // Flushed, so that the rest of a pasted key is not read as a command by the shell.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.before);
        }
    }
}
