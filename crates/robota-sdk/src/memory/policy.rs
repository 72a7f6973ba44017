//! Decides what the memory must not contain: secrets, card numbers, and numbers that identify a
//! person. It errs on the side of refusing, because a stored secret is part of every later prompt.

mod numbers;
mod secrets;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is not stored.
///
/// ```
/// use robota_sdk::memory::Refusal;
///
/// assert_ne!(Refusal::Secret, Refusal::PersonalId);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// A password, a token or a key.
    Secret,
    /// The number of a payment card or a bank account.
    PaymentNumber,
    /// A number that identifies a person, such as a social security number.
    PersonalId,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret => "a password, a token or a key",
            Self::PaymentNumber => "the number of a card or a bank account",
            Self::PersonalId => "a number that identifies a person",
        })
    }
}

/// Checks whether a text may be stored.
///
/// # Errors
/// With the first reason why it may not.
pub fn check(text: &str) -> Result<(), Refusal> {
    // Invisible characters between the parts of a secret would hide it from the patterns.
    let text: String = text.chars().filter(|c| !is_invisible(*c)).map(ascii_form).collect();
    let found = if secrets::found(&text) {
        Refusal::Secret
    } else if numbers::payment(&text) {
        Refusal::PaymentNumber
    } else if numbers::personal(&text) {
        Refusal::PersonalId
    } else {
        return Ok(());
    };
    Err(found)
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Converts full-width characters and unusual dashes and spaces to their ASCII form.
fn ascii_form(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        // A space of another kind must not break a number or a name apart.
        _ if c.is_whitespace() => ' ',
        _ => c,
    }
}

#[cfg(test)]
mod tests;
