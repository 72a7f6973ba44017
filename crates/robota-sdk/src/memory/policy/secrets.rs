//! Finds passwords, tokens and keys.

use std::sync::LazyLock;

use regex::Regex;

/// Texts of a fixed form that are always secrets.
const FORMS: &[&str] = &[
    r"-----BEGIN [A-Z ]*PRIVATE KEY",
    r"\b(sk|pk|rk)[-_](live|test|proj|ant|or)?[-_A-Za-z0-9]{16,}",
    r"\bgh[oprsu]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[-_A-Za-z0-9]{16,}",
    r"\bxox[abeoprs]-[-A-Za-z0-9]{8,}|\bxapp-[-A-Za-z0-9]{8,}",
    r"\b(AKIA|ASIA|AIDA|AROA)[A-Z0-9]{12,}\b|\bAIza[-_A-Za-z0-9]{20,}|\bya29\.[-_A-Za-z0-9]{10,}",
    r"\b(npm|hf|pypi|dop_v1|shpat|sq0atp|sntrys|lin_api|figd|ntn)[-_][-_A-Za-z0-9]{16,}",
    r"\beyJ[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]{8,}",
    r"(?i)\b(bearer|basic)\s+[-_.~+/A-Za-z0-9]{12,}",
    // A URL with a password.
    r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@",
    r"(?i)\bhooks\.slack\.com/services/\S+|\bdiscord(app)?\.com/api/webhooks/\S+",
];

/// The names of secrets that are found anywhere in a word: `MY_TOKEN`, `dbPassword`.
const LONG_NAMES: &str = concat!(
    r"pass(?:word|wd|phrase|code)|secret|token|(?:api|access|private|secret|signing|encryption)",
    r"[-_ ]?key|credentials?|비밀번호|암호|토큰"
);

/// The names that are also ordinary words or parts of words.
const SHORT_NAMES: &str = r"pass|pwd|pw|pin(?:[-_ ]?code)?";

/// A name with an assigned value.
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = format!(r"(?:{LONG_NAMES}|(?:\b|_)(?:{SHORT_NAMES}))");
    Regex::new(&format!(r#"(?i){names}["'`]?\s*(?:=>|:=|=|:)\s*["'`]?[^\s"'`]{{4,}}"#)).ok()
});

/// A name with a value in a sentence: `the password is hunter2`.
static STATED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let long = format!(r"(?:{LONG_NAMES})(?:은|는)?\s+(?:(?:is|are|was):?\s+)?");
    let short = format!(r"\b(?:{SHORT_NAMES})\s+(?:is|was):?\s+");
    Regex::new(&format!(r"(?i)(?:{long}|{short})(?<value>\S+)")).ok()
});

static FIXED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&FORMS.join("|")).ok());

/// Returns whether the text contains a secret. If a pattern could not be compiled, every text does.
pub(super) fn found(text: &str) -> bool {
    let matches = |regex: &Option<Regex>| regex.as_ref().is_none_or(|it| it.is_match(text));
    let stated = STATED
        .as_ref()
        .is_none_or(|regex| regex.captures_iter(text).any(|found| is_value(&found["value"])));
    matches(&FIXED) || matches(&ASSIGNED) || stated || text.split(is_break).any(is_random)
}

/// Returns whether a word behind the name of a secret is its value and not an ordinary word.
fn is_value(word: &str) -> bool {
    let quoted = word.starts_with(['"', '\'', '`']);
    let inner = word.trim_matches(|c: char| "\"'`.,;:!?()".contains(c));
    let unusual = |c: char| c.is_ascii_digit() || "!$%^@#&*".contains(c);
    inner.chars().count() >= 4 && (quoted || inner.contains(unusual))
}

fn is_break(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '-' | '='))
}

/// Returns whether a word looks random: long, with upper and lower case letters and several digits in
/// many changes between them.
fn is_random(word: &str) -> bool {
    let class = |c: char| (c.is_ascii_digit(), c.is_ascii_uppercase(), c.is_ascii_lowercase());
    let chars: Vec<char> = word.chars().filter(char::is_ascii_alphanumeric).collect();
    let count = |test: fn(&char) -> bool| chars.iter().filter(|c| test(c)).count();
    let changes = chars.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    chars.len() >= 20
        && count(char::is_ascii_digit) >= 3
        && count(char::is_ascii_uppercase) >= 3
        && count(char::is_ascii_lowercase) >= 3
        && changes * 3 >= chars.len()
}
