//! Splits lists that people write as one text.

/// Splits a list of permission rules at commas and spaces outside brackets and quotes, and drops
/// quotes around a rule.
///
/// ```
/// use robota_config::frontmatter::split_rules;
///
/// assert_eq!(split_rules("Read, Bash(git add a, b) \"Edit\""), ["Read", "Bash(git add a, b)", "Edit"]);
/// ```
#[must_use]
pub fn split_rules(text: &str) -> Vec<String> {
    split(text, |letter| letter == ',' || letter.is_whitespace())
}

/// Splits a list of globs at commas outside brackets.
pub(super) fn split_globs(text: &str) -> Vec<String> {
    split(text, |letter| letter == ',')
}

fn split(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0usize;
    let mut quote = None;
    for letter in text.chars() {
        let word_is_empty = words.last().is_none_or(|word| word.trim().is_empty());
        match letter {
            // A quote in a rule, such as an apostrophe, is part of it.
            '"' | '\'' | '`' if quote.is_none() && depth == 0 && word_is_empty => {
                quote = Some(letter);
                continue;
            }
            _ if quote == Some(letter) && depth == 0 => {
                quote = None;
                words.push(String::new());
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && quote.is_none() && separates(letter) => {
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}
