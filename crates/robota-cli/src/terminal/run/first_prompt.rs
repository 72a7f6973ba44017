//! The first prompt, from the arguments of the command line.

use crate::Usage;
use crate::args::PrintArgs;
use crate::args::similar::similar_command;

/// Joins the arguments of the command line to the first prompt.
///
/// # Errors
/// If they are one word that looks like a command with a typing error.
pub(super) fn take(args: &mut PrintArgs) -> Result<String, Usage> {
    let words = std::mem::take(&mut args.words).join(" ");
    if words.contains(char::is_whitespace) {
        return Ok(words);
    }
    match similar_command(&words) {
        Some(name) => Err(Usage(format!(
            "unknown command `{words}`; similar: robota {name}. To send it as a prompt, start \
             robota and type it, or use robota -p {words}"
        ))),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests;
