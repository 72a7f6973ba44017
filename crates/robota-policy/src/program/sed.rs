//! What a sed script does beyond printing and replacing.

/// Whether the script only prints, deletes and replaces: no `w`, `r`, `e`, no options to `s`
/// that write or run. Only simple scripts are recognised.
pub(crate) fn is_tame(script: &str) -> bool {
    script.split(['\n', ';']).all(|command| tame_command(command.trim()))
}

fn tame_command(command: &str) -> bool {
    if command.is_empty() {
        return true;
    }
    let Some(rest) = skip_addresses(command) else { return false };
    let mut chars = rest.trim_start_matches(['!', ' ']).chars();
    match chars.next() {
        Some('p' | 'd' | '=' | 'q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'l') => {
            chars.all(|c| c.is_ascii_digit() || c == ' ')
        }
        Some('s') => substitution(chars.as_str()),
        Some('y') => false,
        _ => false,
    }
}

/// `1`, `1,5`, `$`, `/re/`, `/a/,/b/`.
fn skip_addresses(text: &str) -> Option<&str> {
    let mut rest = text;
    for _ in 0..2 {
        rest = match rest.chars().next()? {
            '0'..='9' => {
                rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~' || c == '+')
            }
            '$' => &rest[1..],
            '/' => {
                let end = closing(&rest[1..], '/')?;
                &rest[1 + end + 1..]
            }
            _ => return Some(rest),
        };
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start_matches('+'),
            None => break,
        }
    }
    Some(rest)
}

/// Where an unescaped delimiter stands.
fn closing(text: &str, delimiter: char) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            return Some(i);
        }
    }
    None
}

fn substitution(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(delimiter) = chars.next().filter(|c| !c.is_alphanumeric() && *c != '\\') else {
        return false;
    };
    let body = chars.as_str();
    let Some(first) = closing(body, delimiter) else { return false };
    let rest = &body[first + delimiter.len_utf8()..];
    let Some(second) = closing(rest, delimiter) else { return false };
    let flags = &rest[second + delimiter.len_utf8()..];
    flags.chars().all(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | ' '))
}

#[cfg(test)]
mod tests {
    use super::is_tame;

    #[test]
    fn only_tame_scripts_pass() {
        for script in [
            "1,5p", "$p", "s/a/b/", "s/a/b/g", "/x/p", "/a/,/b/p", "s|a|b|gi", "1d", "1,5p;7p",
            "10,$p",
        ] {
            assert!(is_tame(script), "{script}");
        }
        for script in [
            "1e",
            "s/a/b/e",
            "s/a/b/w out",
            "w out",
            "r /etc/passwd",
            "1!e ls",
            "e",
            "s/a/b",
            "1,5{p;e ls}",
            "a\\ x",
        ] {
            assert!(!is_tame(script), "{script}");
        }
    }
}
