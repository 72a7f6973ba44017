//! Splits HTML into tags and text. It reads each byte a fixed number of times, for any input: the
//! author of a page may try to keep the program busy.

use std::borrow::Cow;

/// The attributes that are kept. All others are skipped.
const KEPT: [&str; 4] = ["href", "src", "alt", "class"];

/// Elements whose content is text, up to their end tag.
const RAW_TEXT: [&str; 8] =
    ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text, with its character references still in it.
    Text(&'a str),
    /// A start tag. Names are in lower case.
    Start { name: Cow<'a, str>, attributes: Vec<(&'static str, &'a str)> },
    /// An end tag.
    End(Cow<'a, str>),
}

/// Reads a page from start to end.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose content is read as text.
    raw: Option<Cow<'a, str>>,
    /// How many bytes were read, counting each time that one is read.
    pub(super) work: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html, raw: None, work: 0 }
    }

    /// Takes bytes from the front.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.rest = rest;
        self.work += taken.len();
        taken
    }

    /// Takes everything before the first of these characters, or the rest of the page.
    fn take_until(&mut self, stop: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        self.work += end;
        self.take(end)
    }

    /// Takes everything up to and including this text, or the rest of the page.
    fn skip_past(&mut self, text: &str) {
        let end = self.rest.find(text).map_or(self.rest.len(), |at| at + text.len());
        self.work += end;
        self.take(end);
    }

    /// Takes the text of an element such as `script`, up to its end tag. Without an end tag it is the
    /// rest of the page.
    fn raw_text(&mut self, name: &str) -> &'a str {
        let mut end = 0;
        loop {
            let Some(at) = self.rest[end..].find("</") else {
                end = self.rest.len();
                break;
            };
            end += at;
            // As bytes: the name may end inside of a character.
            let after = self.rest.as_bytes()[end + 2..].get(..name.len());
            if after.is_some_and(|after| after.eq_ignore_ascii_case(name.as_bytes())) {
                break;
            }
            end += 2;
        }
        self.work += end;
        self.take(end)
    }

    fn start_tag(&mut self) -> Token<'a> {
        let name = self.name();
        let mut attributes = Vec::new();
        loop {
            self.take_until(|c| !c.is_ascii_whitespace() && c != '/');
            match self.rest.as_bytes().first() {
                None => break,
                Some(b'>') => {
                    self.take(1);
                    break;
                }
                Some(_) => {}
            }
            // A name can start with `=`; at least one character is taken.
            let first = self.rest.chars().next().map_or(0, char::len_utf8);
            let start = self.rest;
            self.take(first);
            let more =
                self.take_until(|c| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/')).len();
            let key = &start[..first + more];
            self.take_until(|c| !c.is_ascii_whitespace());
            let value = if self.rest.starts_with('=') { self.value() } else { "" };
            let kept = KEPT.iter().find(|kept| key.eq_ignore_ascii_case(kept));
            if let Some(kept) = kept
                // The first of repeated attributes counts, as in browsers.
                && attributes.iter().all(|(other, _)| other != kept)
            {
                attributes.push((*kept, value));
            }
        }
        if RAW_TEXT.contains(&&*name) {
            // A `<` in a script is no tag.
            self.raw = Some(name.clone());
        }
        Token::Start { name, attributes }
    }

    fn value(&mut self) -> &'a str {
        self.take(1);
        self.take_until(|c| !c.is_ascii_whitespace());
        match self.rest.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                self.take(1);
                let value = self.take_until(|c| c == char::from(*quote));
                self.take(1);
                value
            }
            _ => self.take_until(|c| c.is_ascii_whitespace() || c == '>'),
        }
    }

    fn name(&mut self) -> Cow<'a, str> {
        let name = self.take_until(|c| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if let Some(name) = self.raw.take() {
                return Some(Token::Text(self.raw_text(&name)));
            }
            let mut after = self.rest.bytes();
            match (after.next()?, after.next()) {
                (b'<', Some(b'!')) if self.rest.starts_with("<!--") => {
                    self.take(4);
                    self.skip_past("-->");
                }
                (b'<', Some(b'!' | b'?')) => self.skip_past(">"),
                (b'<', Some(b'/')) => {
                    self.take(2);
                    let name = self.name();
                    self.skip_past(">");
                    return Some(Token::End(name));
                }
                (b'<', Some(letter)) if letter.is_ascii_alphabetic() => {
                    self.take(1);
                    return Some(self.start_tag());
                }
                // `a < b` is text.
                (b'<', _) => return Some(Token::Text(self.take(1))),
                _ => return Some(Token::Text(self.take_until(|c| c == '<'))),
            }
        }
    }
}

/// Replaces character references such as `&amp;` and `&#228;`. Unknown ones stay.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        // The longest name of the table has eight letters.
        let end = part.bytes().take(9).position(|byte| byte == b';');
        match end.and_then(|end| Some((reference(&part[..end])?, &part[end + 1..]))) {
            Some((character, rest)) => {
                out.push(character);
                out.push_str(rest);
            }
            None => {
                out.push('&');
                out.push_str(part);
            }
        }
    }
    Cow::Owned(out)
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        // Control characters could hide text from the user in a terminal.
        return char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

/// The references that occur in ordinary pages.
const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("times", '×'),
    ("divide", '÷'),
    ("frac12", '½'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("cent", '¢'),
    ("sect", '§'),
    ("para", '¶'),
    ("larr", '←'),
    ("rarr", '→'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("harr", '↔'),
    ("le", '≤'),
    ("ge", '≥'),
    ("ne", '≠'),
    ("infin", '∞'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("agrave", 'à'),
    ("ccedil", 'ç'),
    ("aring", 'å'),
    ("oslash", 'ø'),
    ("ntilde", 'ñ'),
];

#[cfg(test)]
mod tests;
