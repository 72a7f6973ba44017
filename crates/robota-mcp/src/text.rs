//! Cleans texts of servers before people or models see them.

/// Removes characters that are not shown, or that change how others are shown: controls, text
/// direction, zero width and tags. Keeps line breaks and tabs. Cuts the text to `limit` bytes.
pub(crate) fn clean(text: &str, limit: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(limit));
    for character in text.chars().filter(|character| !is_hidden(*character)) {
        if cleaned.len() + character.len_utf8() > limit {
            cleaned.push('…');
            break;
        }
        cleaned.push(character);
    }
    cleaned
}

/// Cleans a text and puts it on one line.
pub(crate) fn clean_line(text: &str, limit: usize) -> String {
    clean(text, limit).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes hidden characters as their codes, so that a person sees that they are there.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => visible.push(' '),
            hidden if is_hidden(hidden) => visible.extend(hidden.escape_unicode()),
            shown => visible.push(shown),
        }
    }
    visible
}

fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests;
