//! Rust sources without what is not code. A check that looks for words must not find them in
//! comments and strings; this blanks those and keeps every offset and line where it was.

/// What survives [`mask`] besides code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Code only: of a string, the two quotes are left.
    Code,
    /// Code and what is written in strings.
    Strings,
}

/// The text with comments (and strings, as `keep` says) replaced by spaces. Offsets and lines
/// are those of the original.
#[must_use]
pub fn mask(text: &str, keep: Keep) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    while out.len() < bytes.len() {
        let at = out.len();
        let (end, kind) = piece(bytes, at);
        let piece = &bytes[at..end];
        match (kind, keep) {
            (Kind::Code, _) | (Kind::Text, Keep::Strings) => out.extend_from_slice(piece),
            (Kind::Comment, _) => blank(&mut out, piece),
            (Kind::Text, Keep::Code) => {
                blank(&mut out, piece);
                // Quotes stay where they were, so that a reader still sees that a string is here.
                let quote = |byte: &u8| *byte == b'"';
                // The quote of a character, `'"'`, is none.
                if let (false, Some(first), Some(last)) =
                    (piece[0] == b'\'', piece.iter().position(quote), piece.iter().rposition(quote))
                {
                    out[at + first] = b'"';
                    out[at + last] = b'"';
                }
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    /// A string or character literal.
    Text,
}

fn blank(out: &mut Vec<u8>, piece: &[u8]) {
    out.extend(piece.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
}

/// The piece that starts at `at`: where it ends and what it is.
fn piece(bytes: &[u8], at: usize) -> (usize, Kind) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return (at + end, Kind::Comment);
    }
    if rest.starts_with(b"/*") {
        return (at + block_comment(rest), Kind::Comment);
    }
    if let Some(end) = raw_string(rest) {
        return (at + end, Kind::Text);
    }
    match rest[0] {
        b'"' => (at + quoted(rest, b'"'), Kind::Text),
        b'\'' => match character(rest) {
            Some(end) => (at + end, Kind::Text),
            None => (at + 1, Kind::Code),
        },
        // A whole word at once: the `r` at the end of `bar"` starts no raw string.
        byte if is_word(byte) => {
            let end = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
            (at + end, Kind::Code)
        }
        _ => (at + 1, Kind::Code),
    }
}

/// Whether a byte belongs to a name or number.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut i) = (0_usize, 0);
    while i < rest.len() {
        if rest[i..].starts_with(b"/*") {
            depth += 1;
            i += 2;
        } else if rest[i..].starts_with(b"*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    rest.len()
}

/// Where the raw string that starts here ends; `None` when none starts here.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"r"[..], b"br", b"cr"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let hashes = rest[prefix.len()..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix.len() + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close);
    Some(end.map_or(rest.len(), |end| open + 1 + end + close.len()))
}

/// Where the literal that opens with `quote` ends, escapes considered.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut i = 1;
    while i < rest.len() {
        match rest[i] {
            b'\\' => i += 2,
            byte if byte == quote => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// Where the character literal ends; `None` when this is a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    // One character, of one to four bytes, and the closing quote.
    let width = match rest.get(1)? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    (rest.get(1 + width) == Some(&b'\'')).then_some(2 + width)
}

#[cfg(test)]
mod tests;
