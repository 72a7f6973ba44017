//! Removes from the text of a file what a terminal would interpret and what readers cannot see.

use std::borrow::Cow;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// Returns the text with line feeds as line ends, without a byte order mark, terminal escape
/// sequences, other control characters, and characters that hide or reorder text. What an escape
/// sequence tried to hide stays in the text, where it can be seen.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    // Fast path: most files are plain ASCII and need no change.
    let plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    let changes = |letter| letter == '\r' || is_hidden(letter) || is_modifier(letter);
    if text.bytes().all(plain) || !text.chars().any(changes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            // An escape sequence is skipped as a whole: without its first character the rest would
            // be shown as text.
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            hidden if is_hidden(hidden) => {}
            modifier if is_modifier(modifier) && !modifies(modifier, out.chars().next_back()) => {}
            visible => out.push(visible),
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character changes the one before it, as in emoji and in some scripts, and is not
/// shown itself.
fn is_modifier(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns whether a modifier can change the character before it. Others, such as several in a row, are
/// not shown: a series of them can be a text that only a model reads.
fn modifies(modifier: char, before: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match modifier {
        // In emoji a joiner follows the selector of a variation.
        '\u{200c}' | '\u{200d}' => {
            !before.is_ascii()
                && !matches!(before, '\u{200c}' | '\u{200d}')
                && !before.is_whitespace()
        }
        '\u{fe0f}' if before.is_ascii() => before.is_ascii_digit() || matches!(before, '#' | '*'),
        _ => !before.is_ascii() && !before.is_whitespace() && !is_modifier(before),
    }
}

/// Returns the text cleaned and on one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text on one line, with escapes such as `\u{202e}` for what a terminal would interpret
/// and for what readers cannot see. For texts that a user judges, such as a command: nothing is left
/// out.
///
/// ```
/// use robota_config::visible;
///
/// assert_eq!(visible("ls\nrm \u{1b}[8m*"), "ls\\nrm \\u{1b}[8m*");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) || matches!(letter, '\n' | '\t') {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Returns a path for messages: a file of a stranger may have control characters in its name.
#[must_use]
pub fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|c| if is_hidden(c) || c == '\n' { '\u{fffd}' } else { c })
        .collect()
}

/// Returns whether a character is not shown, or changes how the characters near it are shown. The
/// joiners of emoji and of some scripts are no such characters.
pub(crate) fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        letter if letter.is_control() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        // The last range has the tags, with which a text can be hidden that only a model reads.
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Letters without a shape, and marks of notations that no file for people has.
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => {
            true
        }
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        _ => false,
    }
}

/// Skips the rest of an escape sequence.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        // Other escapes have one more character.
        Some('0'..='~') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|letter| matches!(letter, ' '..='?')).is_some() {}
    rest.next_if(|letter| matches!(letter, '@'..='~'));
}

/// Skips a string for the terminal, such as a window title. One that does not end in its line is no
/// such string; its text stays.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(letter) = ahead.next() {
        match letter {
            '\n' => return,
            '\u{7}' | '\u{9c}' => break,
            '\u{1b}' if ahead.peek() == Some(&'\\') => {
                ahead.next();
                break;
            }
            // The text ends inside of it, so it is no such string either.
            _ if ahead.peek().is_none() => return,
            _ => {}
        }
    }
    *rest = ahead;
}

#[cfg(test)]
mod tests;
