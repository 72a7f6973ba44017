//! Credentials of requests.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use robota_core::env_ref::Secret;
use serde_json::Value;
use url::Url;

/// The credentials that every request of one operation carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Credentials(Vec<Credential>);

#[derive(Debug, Clone)]
enum Credential {
    Header(HeaderName, Secret),
    Query(String, Secret),
    Bearer(Secret),
    /// The user name and the password, joined by a colon.
    Basic(Secret),
}

/// Chooses the first way to sign in that the credentials suffice for.
///
/// # Errors
/// If the operation needs credentials that are missing; the text names them.
pub(super) fn choose(
    needed: Option<&Value>,
    schemes: Option<&Value>,
    given: &BTreeMap<String, Secret>,
) -> Result<Credentials, String> {
    let ways = needed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // An empty list means that the operation is public, whatever the document says in general.
    if ways.is_empty() {
        return Ok(Credentials::default());
    }
    let mut missing = Vec::new();
    for way in ways.iter().filter_map(Value::as_object) {
        let mut chosen = Vec::new();
        for name in way.keys() {
            match given.get(name) {
                Some(secret) => {
                    let scheme = schemes.and_then(|schemes| schemes.get(name));
                    chosen.push(credential(name, scheme, secret)?);
                }
                None => missing.push(name.as_str()),
            }
        }
        if chosen.len() == way.len() {
            return Ok(Credentials(chosen));
        }
    }
    Err(format!("it needs credentials for {}", missing.join(" or ")))
}

fn credential(name: &str, scheme: Option<&Value>, secret: &Secret) -> Result<Credential, String> {
    let text = |key: &str| scheme.and_then(|scheme| scheme.get(key)?.as_str()).unwrap_or_default();
    let secret = secret.clone();
    let http = text("scheme").to_ascii_lowercase();
    match (text("type"), http.as_str(), text("in")) {
        // A token of these two was obtained elsewhere; it is sent like any other.
        ("http", "bearer", _) | ("oauth2" | "openIdConnect", ..) => Ok(Credential::Bearer(secret)),
        ("http", "basic", _) => Ok(Credential::Basic(secret)),
        ("apiKey", _, "header") => {
            let header = text("name").parse();
            let header = header.map_err(|_| format!("`{name}` names no valid header"))?;
            Ok(Credential::Header(header, secret))
        }
        ("apiKey", _, "query") => Ok(Credential::Query(text("name").to_owned(), secret)),
        (kind, ..) => Err(format!("its security scheme `{name}` ({kind}) is not supported")),
    }
}

impl Credentials {
    /// Adds the credentials to a request.
    ///
    /// # Errors
    /// If a credential has characters that a header cannot have.
    pub(super) fn apply(&self, url: &mut Url, headers: &mut HeaderMap) -> Result<(), String> {
        for credential in &self.0 {
            match credential {
                Credential::Header(name, secret) => {
                    headers.insert(name.clone(), sensitive(secret.expose())?);
                }
                Credential::Query(name, secret) => {
                    url.query_pairs_mut().append_pair(name, secret.expose());
                }
                Credential::Bearer(secret) => {
                    let value = format!("Bearer {}", secret.expose());
                    headers.insert(AUTHORIZATION, sensitive(&value)?);
                }
                Credential::Basic(secret) => {
                    let value = format!("Basic {}", STANDARD.encode(secret.expose()));
                    headers.insert(AUTHORIZATION, sensitive(&value)?);
                }
            }
        }
        Ok(())
    }

    /// Removes the credentials from a text, such as an error that contains an address.
    pub(super) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, credential| {
            let secret = match credential {
                Credential::Header(_, secret)
                | Credential::Query(_, secret)
                | Credential::Bearer(secret)
                | Credential::Basic(secret) => secret.expose(),
            };
            let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            text.replace(secret, "***").replace(&encoded, "***")
        })
    }
}

fn sensitive(value: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(value);
    let mut value = value.map_err(|_| "a credential has characters that no header can have")?;
    // Keeps the value out of the debug output of the HTTP library.
    value.set_sensitive(true);
    Ok(value)
}
