//! Whether the exit code of a command is a failure.

use serde_json::{Map, Value};

/// Programs that report with code 1 that they found nothing, or a difference.
const ANSWERS_WITH_1: [&str; 9] =
    ["grep", "egrep", "fgrep", "rg", "find", "diff", "cmp", "test", "["];

/// Returns the exit code of a command that failed, by the metadata of its result. Code 1 of a
/// program that searches or compares is an answer and no failure.
///
/// ```
/// use robota_core::tool::failed_exit_code;
/// use serde_json::json;
///
/// let metadata = json!({"exit_code": 1});
/// let metadata = metadata.as_object().unwrap();
/// assert_eq!(failed_exit_code("make", metadata), Some(1));
/// assert_eq!(failed_exit_code("cat x | grep 'a|b'", metadata), None);
/// ```
#[must_use]
pub fn failed_exit_code(command: &str, metadata: &Map<String, Value>) -> Option<i64> {
    let code = metadata.get("exit_code")?.as_i64().filter(|code| *code != 0)?;
    let answers = code == 1 && ANSWERS_WITH_1.contains(&program(last_part(command)));
    (!answers).then_some(code)
}

/// Returns the last part of a command line, whose exit code is that of the line.
fn last_part(line: &str) -> &str {
    let (mut start, mut quote, mut escaped, mut before) = (0, None, false, ' ');
    let mut last = "";
    for (at, letter) in line.char_indices() {
        let next = line[at + letter.len_utf8()..].chars().next();
        match letter {
            _ if escaped => escaped = false,
            '\\' if quote != Some('\'') => escaped = true,
            _ if quote == Some(letter) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            // `2>&1` and `&>file` redirect.
            '&' if matches!(before, '>' | '<') || next == Some('>') => {}
            '|' | ';' | '&' | '\n' if quote.is_none() => {
                let part = &line[start..at];
                last = if part.trim().is_empty() { last } else { part };
                start = at + 1;
            }
            _ => {}
        }
        before = letter;
    }
    let part = &line[start..];
    if part.trim().is_empty() { last } else { part }
}

/// Returns the name of the program that a part of a command line runs, without its folder.
fn program(part: &str) -> &str {
    let is_assignment = |word: &&str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    let word = part.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_of_a_line_decides_whether_code_1_is_a_failure() {
        let metadata = Map::from_iter([("exit_code".to_owned(), Value::from(1))]);
        for (line, failed) in [
            ("grep x y", false),
            ("LANG=C /usr/bin/grep -c x y", false),
            ("cat x | grep \"a|b;c\" ", false),
            ("grep x y 2>&1", false),
            ("cd x && diff a b;", false),
            ("make &> log; [ -e x ]", false),
            ("grep x y | make", true),
            ("echo 'x | grep y' && false", true),
            ("echo it\\'s; false", true),
            ("false", true),
            ("", true),
        ] {
            assert_eq!(failed_exit_code(line, &metadata).is_some(), failed, "{line}");
        }
        let two = Map::from_iter([("exit_code".to_owned(), Value::from(2))]);
        assert_eq!(failed_exit_code("grep x y", &two), Some(2));
        assert_eq!(failed_exit_code("make", &Map::new()), None);
    }
}
