#![allow(clippy::unwrap_used)]
use super::*;

fn best(query: &str, tools: &[(&str, &str)]) -> Vec<usize> {
    let texts: Vec<(Vec<String>, Vec<String>)> =
        tools.iter().map(|(name, text)| (words(name), words(text))).collect();
    let texts: Vec<Vec<&str>> = texts
        .iter()
        .map(|(name, text)| name.iter().chain(text).map(String::as_str).collect())
        .collect();
    let scores = bm25(&words(query), &texts);
    let mut order: Vec<_> = (0..tools.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

#[test]
fn names_are_split_into_words() {
    assert_eq!(words("mcp__git_hub__createIssueV2"), ["git", "hub", "create", "issue", "v2"]);
    assert_eq!(words("Lists issues, class by class"), ["list", "issue", "class", "by", "class"]);
}

#[test]
fn rare_words_count_more() {
    let tools = [
        ("create_issue", "Creates an issue in a repository"),
        ("create_page", "Creates a page in a wiki"),
        ("create_event", "Creates an event in a calendar"),
    ];
    assert_eq!(best("create calendar events", &tools)[0], 2);
    assert_eq!(best("issues", &tools), [0]);
    assert!(best("weather", &tools).is_empty());
}
