//! Makes the request of a call.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::Url;

use super::operation::{BODY, BodyKind, Operation, Parameter, Place};

/// A request without credentials.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
}

/// Makes the request.
///
/// # Errors
/// If an argument is missing or cannot be sent; the text is for the model.
pub(super) fn prepare(
    operation: &Operation,
    server: &Url,
    arguments: &Map<String, Value>,
) -> Result<Prepared, String> {
    let mut url = server.clone();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/*;q=0.8, */*;q=0.5"));
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for parameter in &operation.parameters {
        let value = arguments.get(&parameter.argument).filter(|value| !value.is_null());
        let Some(value) = value else {
            if parameter.required {
                return Err(format!("`{}` is missing", parameter.argument));
            }
            continue;
        };
        match parameter.place {
            Place::Path => {
                let text = joined(value);
                // `.` and `..` would name another path.
                if text.is_empty() || text == "." || text == ".." {
                    return Err(format!("`{}` must not be `{text}`", parameter.argument));
                }
                // A slash in the value is encoded too: an argument must not lead to another
                // operation.
                path = path.replace(&format!("{{{}}}", parameter.name), &encoded(&text));
            }
            Place::Query => query.extend(pairs(parameter, value)),
            Place::Header => {
                let name: HeaderName = parameter
                    .name
                    .parse()
                    .map_err(|_| format!("`{}` is no valid header", parameter.name))?;
                let text = joined(value);
                let text = HeaderValue::from_str(&text)
                    .map_err(|_| format!("`{name}` has characters that no header can have"))?;
                headers.insert(name, text);
            }
        }
    }
    // `Url::join` would drop the last part of the server's path.
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{base}/{}", path.trim_start_matches('/')));
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let body = match (&operation.body, arguments.get(BODY)) {
        (Some((kind, _)), Some(body)) => Some(encode_body(*kind, body, &mut headers)?),
        (Some((_, true)), None) => return Err("`body` is missing".to_owned()),
        _ => None,
    };
    Ok(Prepared { url, headers, body })
}

fn encode_body(kind: BodyKind, body: &Value, headers: &mut HeaderMap) -> Result<String, String> {
    let (media_type, text) = match kind {
        BodyKind::Json => ("application/json", body.to_string()),
        BodyKind::Text => ("text/plain; charset=utf-8", joined(body)),
        BodyKind::Form => {
            let fields = body.as_object().ok_or("`body` must be an object")?;
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in fields {
                match value {
                    Value::Array(items) => {
                        for item in items {
                            form.append_pair(name, &joined(item));
                        }
                    }
                    value => {
                        form.append_pair(name, &joined(value));
                    }
                }
            }
            ("application/x-www-form-urlencoded", form.finish())
        }
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(text)
}

/// Returns the parts of the query that a parameter becomes.
fn pairs(parameter: &Parameter, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(items) if parameter.explode => {
            items.iter().map(|item| (parameter.name.clone(), joined(item))).collect()
        }
        Value::Object(fields) if parameter.explode => {
            fields.iter().map(|(name, value)| (name.clone(), joined(value))).collect()
        }
        value => vec![(parameter.name.clone(), joined(value))],
    }
}

/// Returns a value as text: lists and objects separated by commas.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(joined).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            let parts = fields.iter().flat_map(|(name, value)| [name.clone(), joined(value)]);
            parts.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

/// Encodes a value for one part of a path.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
