//! Removes secrets from texts that people, logs and journals see.

use std::borrow::Cow;
use std::sync::Arc;

use url::Url;

/// Shorter texts are not treated as secrets: replacing them would garble messages.
const MIN_SECRET_LEN: usize = 4;
const PLACEHOLDER: &str = "[REDACTED]";

/// Holds the secrets of one provider and removes them from texts.
#[derive(Clone, Default)]
pub(crate) struct Scrubber(Arc<[String]>);

impl Scrubber {
    pub(crate) fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut all = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref().trim();
            if secret.len() < MIN_SECRET_LEN {
                continue;
            }
            // Addresses in messages have the secret in this form.
            let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            all.push(secret.to_owned());
            if encoded != secret {
                all.push(encoded);
            }
        }
        // The longest first: one secret may be a prefix of another.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all.into())
    }

    /// Returns the text with secrets replaced.
    pub(crate) fn text(&self, text: &str) -> String {
        self.borrowed(text).into_owned()
    }

    /// Like [`Self::text`], but borrows if the text contains no secret.
    pub(crate) fn borrowed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.0.iter().filter(|secret| !secret.is_empty()) {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), PLACEHOLDER));
            }
        }
        text
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} secrets)", self.0.len())
    }
}

/// Formats an address for people, without user, password and query, which may contain keys.
pub(crate) fn display_address(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for an address without a host, which cannot have a user or password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string().trim_end_matches('/').to_owned()
}
