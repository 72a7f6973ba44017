//! The headers that a request may have.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Converts names and values to the headers of a request.
///
/// # Errors
/// If a header is invalid or only the client may set it. The text names the header.
pub fn checked_headers(
    given: impl IntoIterator<Item = (String, String)>,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let invalid = || format!("`{name}`, which is not a valid header");
        let key = HeaderName::try_from(&name).map_err(|_| invalid())?;
        if is_forbidden(key.as_str()) {
            return Err(format!(
                "`{name}`: only the client sets that header, because it decides which host or \
                 request the server sees"
            ));
        }
        headers.insert(key, HeaderValue::try_from(&value).map_err(|_| invalid())?);
    }
    Ok(headers)
}

/// Returns whether a header (in lower case) changes to which host, over which connection or as which
/// request a server understands the request. The gate has judged the URL, so these are not sent.
fn is_forbidden(name: &str) -> bool {
    const NAMES: [&str; 22] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "keep-alive",
        "expect",
        "http2-settings",
        "forwarded",
        "via",
        "x-real-ip",
        "x-host",
        "x-original-host",
        "x-original-url",
        "x-rewrite-url",
        "x-http-host-override",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "alt-used",
    ];
    NAMES.contains(&name) || name.starts_with("proxy-") || name.starts_with("x-forwarded-")
}
