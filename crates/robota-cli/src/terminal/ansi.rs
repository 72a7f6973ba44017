//! The output of commands: colours are kept, every other escape sequence is removed.

use super::text::{Line, Role, Span, Style};

/// Reads lines of output. Colours continue from line to line, as in a terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    style: Style,
}

impl Output {
    /// Reads a line, which has no line break. What a carriage return would overwrite is left out,
    /// as of a progress bar.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        let mut line = Line::default();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let after = &rest[letter.len_utf8()..];
            match letter {
                '\u{1b}' => {
                    let (sequence, behind) = split_sequence(after);
                    if let Some(codes) = sequence {
                        flush(&mut line, &mut plain, self.style);
                        self.apply(codes);
                    }
                    rest = behind;
                    continue;
                }
                // At the end of a line it is a part of a Windows line break, and overwrites
                // nothing.
                '\r' if !after.is_empty() => {
                    plain.clear();
                    line = Line::default();
                }
                '\u{8}' => {
                    plain.pop();
                }
                letter => plain.push(letter),
            }
            rest = after;
        }
        flush(&mut line, &mut plain, self.style);
        line
    }

    /// Applies the codes of `CSI … m`.
    fn apply(&mut self, codes: &str) {
        let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            let style = &mut self.style;
            match code {
                0 => *style = Style::default(),
                1 => style.bold = true,
                2 => style.role = Role::Dim,
                3 => style.italic = true,
                4 => style.underline = true,
                7 => style.reverse = true,
                9 => style.strike = true,
                22 => {
                    style.bold = false;
                    if style.role == Role::Dim {
                        style.role = Role::Text;
                    }
                }
                23 => style.italic = false,
                24 => style.underline = false,
                27 => style.reverse = false,
                29 => style.strike = false,
                30..=37 => style.role = Role::Ansi(colour(code - 30)),
                90..=97 => style.role = Role::Ansi(colour(code - 90 + 8)),
                38 => style.role = extended(&mut codes).map_or(Role::Text, Role::Ansi),
                39 => style.role = Role::Text,
                // Backgrounds could hide the text; their parameters are skipped.
                48 | 58 => {
                    extended(&mut codes);
                }
                _ => {}
            }
        }
    }
}

fn colour(code: u16) -> u8 {
    u8::try_from(code & 15).unwrap_or(7)
}

fn flush(line: &mut Line, plain: &mut String, style: Style) {
    if !plain.is_empty() {
        line.append(Span::new(&*plain, style));
        plain.clear();
    }
}

/// Splits what follows an escape into the codes of a colour, if it is one, and the rest.
fn split_sequence(text: &str) -> (Option<&str>, &str) {
    match text.as_bytes().first() {
        Some(b'[') => {
            let body = &text[1..];
            // A sequence without an end would take the following text as its parameters.
            let Some(end) = body.find(|letter| matches!(letter, '\u{40}'..='\u{7e}')) else {
                return (None, "");
            };
            let plain =
                body[..end].bytes().all(|it| it.is_ascii_digit() || matches!(it, b';' | b':'));
            let codes = (body.as_bytes()[end] == b'm' && plain).then_some(&body[..end]);
            (codes, &body[end + 1..])
        }
        // Titles, links, clipboard: up to the end of the string.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let bell = text.find('\u{7}').map(|at| (at, 1));
            let end = text.find("\u{1b}\\").map(|at| (at, 2));
            let first = [bell, end].into_iter().flatten().min();
            (None, first.map_or("", |(at, length)| &text[at + length..]))
        }
        // Sequences of several letters, such as the choice of a character set.
        Some(b' '..=b'/') => {
            let rest = text.trim_start_matches(|letter| matches!(letter, ' '..='/'));
            (None, rest.get(1..).unwrap_or(""))
        }
        Some(byte) if byte.is_ascii() => (None, &text[1..]),
        Some(_) | None => (None, text),
    }
}

/// Reads the parameters of a colour out of 256 or of 16 million, as the nearest of 16.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    let (red, green, blue) = match codes.next()? {
        5 => match codes.next()? {
            code @ 0..=15 => return Some(colour(code)),
            code @ 16..=231 => {
                let level = |index: u16| if index == 0 { 0 } else { 55 + 40 * index };
                let code = code - 16;
                (level(code / 36), level(code / 6 % 6), level(code % 6))
            }
            code => {
                let grey = 8 + 10 * code.min(255).saturating_sub(232);
                (grey, grey, grey)
            }
        },
        2 => (codes.next()?, codes.next()?, codes.next()?),
        _ => return None,
    };
    Some(nearest(red.min(255), green.min(255), blue.min(255)))
}

/// Returns the nearest of the 16 colours.
fn nearest(red: u16, green: u16, blue: u16) -> u8 {
    let most = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    if most - least < 40 {
        return match most {
            0..=50 => 0,
            51..=140 => 8,
            141..=215 => 7,
            _ => 15,
        };
    }
    let middle = u16::midpoint(most, least);
    let bit = |value: u16, bit: u8| if value > middle { bit } else { 0 };
    let bright = if most > 210 { 8 } else { 0 };
    bit(red, 1) | bit(green, 2) | bit(blue, 4) | bright
}

#[cfg(test)]
mod tests;
