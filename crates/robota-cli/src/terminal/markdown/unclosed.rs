//! Closes what the end of a text leaves open, so that the text does not change its look when the
//! closing sign arrives.

/// Returns what to append to a text, and how much of its end to leave out before: signs that could
/// still open something.
pub(super) fn closing(text: &str) -> (usize, String) {
    // Emphasis never reaches over a blank line.
    let start = text.rfind("\n\n").map_or(0, |at| at + 2);
    let paragraph = &text[start..];
    let kept = paragraph.trim_end_matches(['*', '_', '~', '`']);
    // Signs behind a letter close something; signs behind a space would open something.
    let opens = kept.is_empty() || kept.ends_with(char::is_whitespace);
    let (paragraph, dropped) =
        if opens { (kept, paragraph.len() - kept.len()) } else { (paragraph, 0) };
    (dropped, open_signs(paragraph).into_iter().rev().collect())
}

/// Returns the signs of emphasis and code that are open at the end.
fn open_signs(text: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let length = rest.chars().take_while(|other| *other == letter).count();
        let in_code = open.last().is_some_and(|sign| sign.starts_with('`'));
        let after = rest[length * letter.len_utf8()..].chars().next().unwrap_or(' ');
        match letter {
            '\\' if !in_code => {
                let skipped = rest[1..].chars().next().map_or(0, char::len_utf8);
                rest = &rest[1 + skipped..];
                before = 'x';
                continue;
            }
            '`' => {
                let sign = "`".repeat(length);
                if open.last() == Some(&sign) {
                    open.pop();
                } else if !in_code {
                    open.push(sign);
                }
            }
            '*' | '_' | '~' if !in_code && (letter != '~' || length == 2) => {
                let sign = letter.to_string().repeat(length.min(3));
                // An underscore inside of a word is a part of a name.
                let opens = !after.is_whitespace() && (letter != '_' || !before.is_alphanumeric());
                if open.last() == Some(&sign) && !before.is_whitespace() {
                    open.pop();
                } else if opens {
                    open.push(sign);
                }
            }
            _ => {}
        }
        before = letter;
        rest = &rest[length * letter.len_utf8()..];
    }
    open
}
