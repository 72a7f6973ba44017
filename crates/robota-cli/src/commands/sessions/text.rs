//! Makes text from a session safe and short enough for a terminal.

/// Replaces escape sequences and other control characters, which a terminal would interpret, by a
/// visible character.
pub(crate) fn plain(text: &str) -> String {
    let visible = |letter: char| match letter {
        '\n' => '\n',
        '\t' => ' ',
        // Bidirectional controls can hide or reorder the text that follows.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    text.replace("\r\n", "\n").chars().map(visible).collect()
}

/// Returns the text on one line, cut at `width` characters.
pub(crate) fn short(text: &str, width: usize) -> String {
    let line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(width) {
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => line,
    }
}

/// Puts `with` in front of every line.
pub(super) fn indent(text: &str, with: &str) -> String {
    let lines: Vec<_> =
        plain(text.trim_end()).lines().map(|line| format!("{with}{line}")).collect();
    lines.join("\n")
}
