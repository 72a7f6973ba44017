//! What a web page says, in a line: gateways answer with pages when they cannot reach the
//! service.

use super::cut;

/// The words of a body that is no JSON.
pub(super) fn words(body: &str) -> String {
    let body = body.trim();
    if body.is_empty() {
        return "the service gave no reason".to_owned();
    }
    let lower = body.get(..body.len().min(1_024)).unwrap_or(body).to_ascii_lowercase();
    let is_page = body.starts_with('<') || lower.contains("<html") || lower.contains("<!doctype");
    if !is_page {
        return cut(body, 500);
    }
    let title = between(body, "<title", "</title>").map(text_of);
    let words = title.filter(|title| !title.is_empty()).unwrap_or_else(|| text_of(body));
    format!("a web page came back instead of an answer: {}", cut(&words, 200))
}

/// What is inside the first element of that name.
fn between<'a>(page: &'a str, open: &str, close: &str) -> Option<&'a str> {
    // Only ASCII changes its case here, so that places stay where they were.
    let lower = page.to_ascii_lowercase();
    let start = lower.find(open)?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find(close)?;
    page.get(start..end)
}

/// Text without tags, white space folded.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in html.chars().take(20_000) {
        match letter {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            _ if inside => {}
            _ => text.push(letter),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
