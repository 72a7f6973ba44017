//! Text from a session as a terminal may show it.

/// Without what a terminal would obey: escapes and other controls become a visible sign.
pub(super) fn plain(text: &str) -> String {
    let visible = |letter: char| match letter {
        '\n' => '\n',
        '\t' => ' ',
        // Marks that turn the direction of what follows hide things as well.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    text.replace("\r\n", "\n").chars().map(visible).collect()
}

/// On one line, cut where it gets too long.
pub(super) fn short(text: &str, width: usize) -> String {
    let line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(width) {
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => line,
    }
}

/// Every line with that before it.
pub(super) fn indent(text: &str, with: &str) -> String {
    let lines: Vec<_> =
        plain(text.trim_end()).lines().map(|line| format!("{with}{line}")).collect();
    lines.join("\n")
}
