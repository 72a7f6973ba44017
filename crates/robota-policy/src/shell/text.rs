//! Text that no shell command should be made of.

/// Beyond this a person cannot have read it.
pub(crate) const MAX_COMMAND: usize = 10_000;

/// Why this text is not looked at any further, if so.
pub(crate) fn unreadable(text: &str) -> Option<String> {
    if text.chars().count() > MAX_COMMAND {
        return Some(format!("the command is longer than {MAX_COMMAND} characters"));
    }
    let bad = text.chars().find(|c| misleading(*c))?;
    Some(if bad == '\0' {
        "the command contains a NUL character".into()
    } else {
        format!("the command contains U+{:04X}, which hides or changes what it says", bad as u32)
    })
}

/// Control characters, and what looks like a space or like nothing but is a letter to the shell.
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
