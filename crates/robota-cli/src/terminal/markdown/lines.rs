//! What single lines of Markdown begin or end.

/// The fence of a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    sign: u8,
    length: usize,
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// The bullet, or the sign behind the number. Items with another sign are another list.
    pub(super) sign: u8,
    /// The number of an ordered item.
    pub(super) number: Option<u64>,
    /// The column in which the marker begins.
    pub(super) indent: usize,
    /// The column in which the item's content begins.
    pub(super) content: usize,
    /// Whether nothing follows the marker.
    pub(super) empty: bool,
}

/// Returns the number of columns before the first letter.
pub(super) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns the fence that a line opens, and the language behind it. The line may be indented.
pub(super) fn opened_fence(line: &str) -> Option<(Fence, &str)> {
    let text = line.trim_start();
    let sign = *text.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == sign).count();
    let info = text[length..].trim();
    // Backticks behind it make it code inside of a text (CommonMark).
    if length < 3 || (sign == b'`' && info.contains('`')) {
        return None;
    }
    Some((Fence { sign, length }, info.split([' ', ',', '{']).next().unwrap_or("")))
}

/// Returns whether a line closes a fence.
pub(super) fn closes(line: &str, fence: Fence) -> bool {
    let text = line.trim();
    text.len() >= fence.length && text.bytes().all(|byte| byte == fence.sign)
}

/// Returns whether a line is a heading with `#`.
pub(super) fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let next = text.as_bytes().get(level);
    (1..=6).contains(&level) && next.is_none_or(u8::is_ascii_whitespace) && indent(line) < 4
}

/// Returns whether a line is a part of a quote.
pub(super) fn is_quote(line: &str) -> bool {
    line.trim_start().starts_with('>') && indent(line) < 4
}

/// Returns whether a line makes the paragraph above it a heading.
pub(super) fn is_underline(line: &str) -> bool {
    let text = line.trim();
    let sign = text.bytes().next();
    matches!(sign, Some(b'=' | b'-'))
        && text.bytes().all(|byte| Some(byte) == sign)
        && indent(line) < 4
}

/// Returns the sign of a line that is a thematic break.
pub(super) fn rule(line: &str) -> Option<u8> {
    let text = line.trim();
    let sign = *text.as_bytes().first().filter(|sign| matches!(sign, b'*' | b'-' | b'_'))?;
    let signs = text.bytes().filter(|byte| *byte == sign).count();
    let others = text.bytes().any(|byte| byte != sign && byte != b' ' && byte != b'\t');
    (signs >= 3 && !others && indent(line) < 4).then_some(sign)
}

/// Returns the marker of a line that begins a list item.
pub(super) fn marker(line: &str) -> Option<Marker> {
    if rule(line).is_some() {
        return None;
    }
    let start = indent(line);
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = *text.as_bytes().get(digits)?;
    let number = match (digits, sign) {
        (0, b'-' | b'*' | b'+') => None,
        // At most nine digits, as CommonMark has it.
        (1..=9, b'.' | b')') => Some(text[..digits].parse().ok()?),
        _ => return None,
    };
    let rest = &text[digits + 1..];
    let empty = is_blank(rest);
    if !empty && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let spaces = indent(rest);
    // More than four spaces begin indented code inside of the item (CommonMark).
    let spaces = if empty || spaces > 4 { 1 } else { spaces };
    Some(Marker { sign, number, indent: start, content: start + digits + 1 + spaces, empty })
}

/// Returns the text behind the marker of a line that begins a list item.
pub(super) fn behind_marker(line: &str) -> &str {
    let text = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    text.get(1..).unwrap_or("")
}

/// Returns whether a line ends a paragraph before it and begins something else.
pub(super) fn interrupts(line: &str) -> bool {
    if indent(line) > 3 {
        return false;
    }
    opened_fence(line).is_some()
        || is_heading(line)
        // Hyphens below a paragraph make it a heading.
        || rule(line).is_some_and(|sign| sign != b'-')
        // A number in the middle of a sentence, such as `1984.`, begins no list (CommonMark).
        || marker(line).is_some_and(|it| !it.empty && matches!(it.number, None | Some(1)))
}

/// Returns whether a line is the second line of a table.
pub(super) fn is_table_rule(line: &str) -> bool {
    let text = line.trim();
    text.contains('-')
        && text.contains('|')
        && text.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
}
