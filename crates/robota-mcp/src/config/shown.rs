//! One line for people about what runs or is connected to: as it is written, so without the values of
//! variables, and without what looks like a secret.

use robota_core::redact::{is_secret_name, is_secret_variable};
use serde_json::{Map, Value};

const HIDDEN: &str = "***";

/// Returns the command of an entry.
pub(super) fn command(entry: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = entry.get("command").into_iter().chain(args).map(text);
    let mut shown: Vec<String> = Vec::new();
    let mut hides_next = false;
    for word in words {
        let hidden = if hides_next { hide(&word) } else { without_secret(&word) };
        hides_next = word.starts_with('-') && !word.contains('=') && is_secret(&word);
        shown.push(hidden);
    }
    shown.join(" ")
}

/// Returns the address of an entry.
pub(super) fn address(entry: &Map<String, Value>) -> String {
    let url = entry.get("url").and_then(Value::as_str).unwrap_or_default();
    let (start, query) = match url.split_once('?') {
        Some((start, query)) => (start, Some(query)),
        None => (url, None),
    };
    let mut shown = match start.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match host.rsplit_once('@') {
                Some((user, host)) => format!("{scheme}://{}@{host}{path}", hide(user)),
                None => start.to_owned(),
            }
        }
        None => start.to_owned(),
    };
    if let Some(query) = query {
        let parts: Vec<_> = query.split('&').map(without_secret).collect();
        shown.push('?');
        shown.push_str(&parts.join("&"));
    }
    shown
}

/// Hides the value of `NAME=VALUE` and `NAME: VALUE` if the name is that of a secret.
fn without_secret(word: &str) -> String {
    for separator in ["=", ": "] {
        if let Some((name, value)) = word.split_once(separator)
            && is_secret(name)
        {
            return format!("{name}{separator}{}", hide(value));
        }
    }
    word.to_owned()
}

fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    is_secret_name(&name) || is_secret_variable(&name)
}

/// Hides a text. The name of a variable is no secret.
fn hide(text: &str) -> String {
    if text.contains("${") { text.to_owned() } else { HIDDEN.to_owned() }
}
