//! Finds mentions of files in Markdown: `@path`, outside code.

/// The most mentions of one text that are used.
const MAX_MENTIONS: usize = 100;

/// A mention of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The range of the mention in the text, from the `@` on.
    pub(crate) range: std::ops::Range<usize>,
    /// The path, without quotes and escapes.
    pub(crate) path: String,
}

/// Returns the mentions in a text. Code spans and fenced code have none.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut fences = Fences::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !fences.covers(line) {
            in_line(line, at, &mut found);
        }
        at += line.len();
    }
    found.truncate(MAX_MENTIONS);
    found
}

/// Tells which lines of a Markdown text belong to fenced code.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Returns whether the next line is fenced code, or its first or last line.
    pub(crate) fn covers(&mut self, line: &str) -> bool {
        let line = line.trim();
        let run = |letter: char| line.chars().take_while(|c| *c == letter).count();
        match self.open {
            Some((letter, length)) => {
                if run(letter) >= length && line.chars().all(|c| c == letter) {
                    self.open = None;
                }
                true
            }
            None => {
                let fence = ['`', '~'].into_iter().find(|letter| run(*letter) >= 3);
                // A code span with three marks is no fence.
                let fence = fence
                    .filter(|letter| *letter == '~' || !line.trim_start_matches('`').contains('`'));
                self.open = fence.map(|letter| (letter, run(letter)));
                fence.is_some()
            }
        }
    }
}

fn in_line(line: &str, offset: usize, found: &mut Vec<Mention>) {
    let mut at = 0;
    let mut before = ' ';
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let letter = rest.chars().next().unwrap_or(' ');
        let mut step = letter.len_utf8();
        if letter == '`' {
            step = code_span(rest);
        } else if letter == '@'
            && before.is_whitespace()
            && let Some((length, path)) = path(&rest[1..])
        {
            let start = offset + at;
            found.push(Mention { range: start..start + 1 + length, path });
            step = 1 + length;
        }
        before = letter;
        at += step;
    }
}

/// Returns the length of the code span at the start of a text, or of the marks if it does not end.
fn code_span(text: &str) -> usize {
    let marks = text.chars().take_while(|c| *c == '`').count();
    let mut at = marks;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('`')) {
        at += found;
        let run = text[at..].chars().take_while(|c| *c == '`').count();
        at += run;
        if run == marks {
            return at;
        }
    }
    marks
}

/// Returns the length of the path at the start of a text and the path itself.
fn path(text: &str) -> Option<(usize, String)> {
    if let Some(rest) = text.strip_prefix('"') {
        let end = rest.find(['"', '\n'])?;
        let quoted =
            rest.get(..end).filter(|path| !path.is_empty() && rest[end..].starts_with('"'))?;
        return Some((end + 2, quoted.to_owned()));
    }
    let mut path = String::new();
    let mut length = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => {
                letters.next();
                path.push(' ');
                length += 2;
            }
            letter if letter.is_whitespace() || letter == '`' => break,
            letter => {
                path.push(letter);
                length += letter.len_utf8();
            }
        }
    }
    let trimmed =
        path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '*']);
    length -= path.len() - trimmed.len();
    let path = trimmed.split('#').next().unwrap_or_default();
    let starts = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '.' | '/' | '~' | '_' | '-' | '$')
    };
    path.starts_with(starts).then(|| (length, path.to_owned()))
}

#[cfg(test)]
mod tests;
