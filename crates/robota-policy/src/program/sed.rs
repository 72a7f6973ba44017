//! The part of sed that prints, deletes and replaces. Scripts are parsed; what is not understood
//! is not proven harmless.

use std::iter::Peekable;
use std::str::Chars;

/// Returns whether the script does nothing but change what is printed: it reads, writes and runs
/// nothing, and it ends.
pub(super) fn is_harmless(script: &str) -> bool {
    let mut parser = Parser {
        chars: script.chars().peekable(),
        depth: 0,
        loops: Vec::new(),
        restarts: false,
        adds_lines: false,
    };
    parser.script().is_some() && parser.depth == 0 && !(parser.restarts && parser.adds_lines)
}

struct Parser<'s> {
    chars: Peekable<Chars<'s>>,
    depth: usize,
    /// Labels, and whether a line is read on the way from each to here, on every path.
    loops: Vec<(String, bool)>,
    /// It has a `D`, which deletes the first line of the text and starts again with the others,
    /// without reading one. It ends as long as nothing adds lines but reading.
    restarts: bool,
    adds_lines: bool,
}

impl Parser<'_> {
    fn script(&mut self) -> Option<()> {
        loop {
            while self.chars.next_if(|c| c.is_whitespace() || *c == ';').is_some() {}
            match self.chars.peek() {
                None => return Some(()),
                Some('#') => self.line(),
                Some('}') => {
                    self.chars.next();
                    self.depth = self.depth.checked_sub(1)?;
                    self.blanks();
                }
                Some(_) => self.command()?,
            }
        }
    }

    fn blanks(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    }

    fn line(&mut self) {
        while self.chars.next().is_some_and(|c| c != '\n') {}
    }

    fn command(&mut self) -> Option<()> {
        let addressed = self.addresses()?;
        self.blanks();
        match self.chars.next()? {
            '{' => self.depth += 1,
            'n' | 'N' => {
                // Only one that always runs counts: with an address, or in a block, it may be
                // skipped.
                if !addressed && self.depth == 0 {
                    self.loops.iter_mut().for_each(|(_, reads)| *reads = true);
                }
                self.end()?;
            }
            command @ ('=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'p' | 'P' | 'x' | 'z' | 'F') => {
                self.restarts |= command == 'D';
                self.adds_lines |= matches!(command, 'g' | 'G' | 'x');
                self.end()?;
            }
            'l' | 'q' | 'Q' => {
                self.blanks();
                while self.chars.next_if(char::is_ascii_digit).is_some() {}
                self.end()?;
            }
            's' => {
                let delimiter = self.chars.next()?;
                self.delimited(delimiter, true)?;
                let replacement = self.delimited(delimiter, false)?;
                // What was found may contain lines, and an escape may be one.
                self.adds_lines |= replacement.contains(['&', '\\']);
                let flag = |c: &char| matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9');
                while self.chars.next_if(flag).is_some() {}
                self.end()?;
            }
            'y' => {
                let delimiter = self.chars.next()?;
                self.delimited(delimiter, false)?;
                self.adds_lines |= self.delimited(delimiter, false)?.contains('\\');
                self.end()?;
            }
            // A text up to the end of the line; a backslash at its end continues it.
            'a' | 'i' | 'c' => {
                let mut escaped = false;
                for c in self.chars.by_ref() {
                    if c == '\n' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            ':' if !addressed => {
                let name = self.label()?;
                self.loops.push((name, false));
            }
            'b' | 't' | 'T' => {
                let name = self.label().unwrap_or_default();
                // A jump backwards without reading a line would never end.
                let ends = |(label, reads): &(String, bool)| *label != name || *reads;
                self.loops.iter().all(ends).then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Checks the end of a command: `;`, a closing brace, a comment or the end of the line.
    fn end(&mut self) -> Option<()> {
        self.blanks();
        matches!(self.chars.peek(), None | Some(';' | '\n' | '}' | '#')).then_some(())
    }

    /// Returns the name of a label. Some programs end it at a blank or a brace and some do not.
    fn label(&mut self) -> Option<String> {
        self.blanks();
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        matches!(self.chars.peek(), None | Some(';' | '\n')).then_some(())?;
        (!name.is_empty()).then_some(name)
    }

    /// `1`, `1,5`, `$`, `/re/I`, `\,re,`, `0~3`, `/a/,+2`; whether there is one.
    fn addresses(&mut self) -> Option<bool> {
        let first = self.address()?;
        if first {
            self.blanks();
            if self.chars.next_if_eq(&',').is_some() {
                self.blanks();
                self.chars.next_if(|c| matches!(c, '+' | '~'));
                self.address()?.then_some(())?;
            }
        }
        self.blanks();
        let mut not = false;
        while self.chars.next_if_eq(&'!').is_some() {
            not = true;
            self.blanks();
        }
        Some(first || not)
    }

    fn address(&mut self) -> Option<bool> {
        match self.chars.peek()? {
            '0'..='9' => while self.chars.next_if(|c| c.is_ascii_digit() || *c == '~').is_some() {},
            '$' => {
                self.chars.next();
            }
            '/' | '\\' => {
                let mut delimiter = self.chars.next()?;
                if delimiter == '\\' {
                    delimiter = self.chars.next()?;
                }
                self.delimited(delimiter, true)?;
                while self.chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// Returns the text up to the delimiter. In a bracket expression some programs see it and some
    /// do not.
    fn delimited(&mut self, delimiter: char, regex: bool) -> Option<String> {
        if delimiter.is_alphanumeric() || matches!(delimiter, '\\' | '\n' | '[' | ']' | ' ') {
            return None;
        }
        let mut text = String::new();
        loop {
            match self.chars.next()? {
                '\\' => {
                    text.push('\\');
                    text.push(self.chars.next()?);
                }
                '\n' => return None,
                c if c == delimiter => break,
                c => text.push(c),
            }
        }
        (!regex || !ends_in_bracket(&text)).then_some(text)
    }
}

/// Returns whether a regular expression may end inside of a bracket expression, for some program.
pub(super) fn ends_in_bracket(regex: &str) -> bool {
    // With a `]` that comes first as a member or as the end, with escapes that count in it or not.
    let open = |first: bool, escapes: bool| {
        let chars: Vec<char> = regex.chars().collect();
        let mut i = 0;
        while i < chars.len() {
            match chars[i] {
                '\\' => i += 2,
                '[' => {
                    i += 1;
                    if chars.get(i) == Some(&'^') {
                        i += 1;
                    }
                    if first && chars.get(i) == Some(&']') {
                        i += 1;
                    }
                    loop {
                        match chars.get(i) {
                            None => return true,
                            Some(']') => break,
                            Some('\\') if escapes => i += 2,
                            Some('[') if matches!(chars.get(i + 1), Some(':' | '.' | '=')) => {
                                let mark = chars[i + 1];
                                let end = (i + 2..chars.len().saturating_sub(1))
                                    .find(|at| chars[*at] == mark && chars[*at + 1] == ']');
                                match end {
                                    Some(end) => i = end + 2,
                                    None => return true,
                                }
                            }
                            Some(_) => i += 1,
                        }
                    }
                    i += 1;
                }
                _ => i += 1,
            }
        }
        false
    };
    [(true, true), (true, false), (false, true), (false, false)]
        .into_iter()
        .any(|(first, escapes)| open(first, escapes))
}

#[cfg(test)]
mod tests;
