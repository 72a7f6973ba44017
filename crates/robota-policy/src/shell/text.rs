//! Text that no shell command should be made of.

/// Beyond this a person cannot have read it.
pub(crate) const MAX_COMMAND: usize = 10_000;

/// Why this text is not analysed any further, if so.
pub(crate) fn unreadable(text: &str) -> Option<String> {
    if text.chars().count() > MAX_COMMAND {
        return Some(format!("the command is longer than {MAX_COMMAND} characters"));
    }
    if too_nested(text) {
        return Some(format!("substitutions are nested more than {MAX_NESTING} deep"));
    }
    let bad = text.chars().find(|c| misleading(*c))?;
    Some(if bad == '\0' {
        "the command contains a NUL character".into()
    } else {
        format!("the command contains U+{:04X}, which hides or changes what it says", bad as u32)
    })
}

/// Deeper nesting than this is not analysed: it would cost time that
/// doubles from level to level.
const MAX_NESTING: usize = 8;

/// Whether substitutions are nested too deep to be followed.
pub(crate) fn too_nested(text: &str) -> bool {
    nesting(text) > MAX_NESTING
}

/// How deep substitutions and expansions are nested, counted on the text alone: quotes are not
/// considered, so it is never too little.
fn nesting(text: &str) -> usize {
    let (mut open, mut deepest, mut before) = (0_usize, 0, ' ');
    for letter in text.chars() {
        match letter {
            '(' if matches!(before, '$' | '<' | '>') => open += 1,
            '{' if before == '$' => open += 1,
            ')' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
        before = letter;
    }
    deepest.max(text.matches("\\`").count() / 2)
}

/// Control characters, and characters that are shown as a space or not at all but are letters to the shell.
fn misleading(c: char) -> bool {
    match c {
        '\n' | '\t' | ' ' => false,
        c if c.is_control() => true,
        c if c.is_whitespace() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}
