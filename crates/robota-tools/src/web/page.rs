//! Converts a response body to text for a model.

use encoding_rs::{Encoding, UTF_8};

use super::markdown::to_markdown;

/// A response body as text.
pub(crate) enum Readable {
    /// The text, as Markdown if it was HTML.
    Text(String),
    /// The body is not text.
    Binary,
    /// The conversion was cancelled.
    Cancelled,
}

/// Converts a body by its content type. `cancelled` is called from time to time.
pub(crate) fn readable(content_type: &str, body: &[u8], cancelled: &dyn Fn() -> bool) -> Readable {
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
    if !html {
        return Readable::Text(text.into_owned());
    }
    to_markdown(&text, cancelled).map_or(Readable::Cancelled, Readable::Text)
}

fn looks_like_html(body: &[u8]) -> bool {
    // Enough for comments and a byte order mark before the first element.
    let start = body[..body.len().min(1024)].to_ascii_lowercase();
    start.windows(5).any(|window| window == b"<html")
        || start.windows(9).any(|window| window == b"<!doctype")
}

/// Returns the encoding that an HTML page declares.
fn declared_encoding(body: &[u8]) -> Option<&'static Encoding> {
    // The standard allows 1024 bytes before the declaration; this is generous.
    let start = String::from_utf8_lossy(&body[..body.len().min(2048)]).to_ascii_lowercase();
    let label = start.split("charset=").nth(1)?.trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !(c.is_alphanumeric() || "-_:".contains(c)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

#[cfg(test)]
mod tests;
