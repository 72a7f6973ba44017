//! Summarises error bodies that are not JSON: gateways return HTML pages when they cannot reach the
//! service.

use super::shorten;

/// Summarises a body that is not JSON in one line.
pub(super) fn summary(body: &str) -> String {
    let body = body.trim();
    if body.is_empty() {
        return "the service gave no reason".to_owned();
    }
    // Only the beginning: an answer that quotes HTML somewhere is not a page.
    let lower = body.get(..body.len().min(1_024)).unwrap_or(body).to_ascii_lowercase();
    let is_html = body.starts_with('<') || lower.contains("<html") || lower.contains("<!doctype");
    if !is_html {
        return shorten(body, 500);
    }
    let title = element_content(body, "<title", "</title>").map(strip_tags);
    let text = title.filter(|title| !title.is_empty()).unwrap_or_else(|| strip_tags(body));
    format!("received HTML instead of an API response: {}", shorten(&text, 200))
}

/// Returns the content of the first element whose opening tag starts with `open`.
fn element_content<'a>(page: &'a str, open: &str, close: &str) -> Option<&'a str> {
    // ASCII lower-casing keeps byte offsets, so they are valid in the original text too.
    let lower = page.to_ascii_lowercase();
    let start = lower.find(open)?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find(close)?;
    page.get(start..end)
}

/// Removes tags and collapses white space.
fn strip_tags(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    // Pages can have megabytes of scripts.
    for letter in html.chars().take(20_000) {
        match letter {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                text.push(' ');
            }
            _ if in_tag => {}
            _ => text.push(letter),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
