//! Converts a response body to text for a model.

use encoding_rs::{Encoding, UTF_8};

/// The deepest nesting that is converted to Markdown. The converter is recursive, so its stack grows
/// with the nesting of the page.
const MAX_DEPTH: usize = 1_000;
/// The stack size that this depth needs.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// A response body as text.
pub(crate) enum Readable {
    /// The text.
    Text(String),
    /// The body is not text.
    Binary,
}

/// Converts a body by its content type.
pub(crate) fn readable(content_type: &str, body: &[u8]) -> Readable {
    let mut parts = content_type.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts
        .find_map(|part| part.strip_prefix("charset="))
        .and_then(|label| Encoding::for_label(label.trim_matches('"').as_bytes()));
    let html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml")
        || (kind.is_empty() && looks_like_html(body));
    let text = html
        || kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind.as_str(),
            "application/json" | "application/xml" | "application/javascript" | "application/yaml"
        )
        || (kind.is_empty() && !body.contains(&0));
    if !text {
        return Readable::Binary;
    }
    let charset =
        charset.or_else(|| html.then(|| declared_encoding(body)).flatten()).unwrap_or(UTF_8);
    let (text, _, _) = charset.decode(body);
    Readable::Text(if html { markdown(&text) } else { text.into_owned() })
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = body[..body.len().min(1024)].to_ascii_lowercase();
    start.windows(5).any(|window| window == b"<html")
        || start.windows(9).any(|window| window == b"<!doctype")
}

/// Returns the encoding that an HTML page declares.
fn declared_encoding(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(2048)]).to_ascii_lowercase();
    let label = start.split("charset=").nth(1)?.trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !(c.is_alphanumeric() || "-_:".contains(c)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

fn markdown(html: &str) -> String {
    if depth(html) > MAX_DEPTH {
        return without_tags(html);
    }
    let skipped = vec!["script", "style", "noscript", "svg", "iframe", "template", "head"];
    let html = html.to_owned();
    let original = html.clone();
    let converted = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        htmd::HtmlToMarkdown::builder().skip_tags(skipped).build().convert(&html).ok()
    });
    // If the converter fails, only the tags are removed.
    let converted = converted.ok().and_then(|thread| thread.join().ok()).flatten();
    converted.unwrap_or_else(|| without_tags(&original))
}

/// Returns an upper bound of the nesting depth: every tag that is not closed counts as open.
fn depth(html: &str) -> usize {
    const OFTEN_UNCLOSED: [&str; 20] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "td", "tr", "dd", "option",
    ];
    let (mut depth, mut max) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
            let name = tag[..end].to_ascii_lowercase();
            if !OFTEN_UNCLOSED.contains(&name.as_str()) {
                depth += 1;
                max = max.max(depth);
            }
        }
    }
    max
}

/// Removes all tags.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut parts = html.split('<');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        if let Some((_, rest)) = part.split_once('>') {
            text.push_str(rest);
        }
    }
    text
}

#[cfg(test)]
mod tests;
