//! Keeping secrets out of whatever people, logs and journals see.

use std::borrow::Cow;
use std::sync::Arc;

use url::Url;

/// Shorter texts are no secrets, and replacing them would garble messages.
const SHORTEST: usize = 4;
const SHOWN: &str = "[REDACTED]";

/// Knows the secrets of one provider and takes them out of texts.
#[derive(Clone, Default)]
pub(crate) struct Scrubber(Arc<[String]>);

impl Scrubber {
    pub(crate) fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut all = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref().trim();
            if secret.len() < SHORTEST {
                continue;
            }
            let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            all.push(secret.to_owned());
            if encoded != secret {
                all.push(encoded);
            }
        }
        // The longest first: one secret may be the beginning of another.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all.into())
    }

    /// The text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        self.borrowed(text).into_owned()
    }

    /// The same, borrowed when there is nothing to hide.
    pub(crate) fn borrowed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.0.iter().filter(|secret| !secret.is_empty()) {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), SHOWN));
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

/// An address as people may see it: no user, no password, no query, where keys hide.
pub(crate) fn place(url: &Url) -> String {
    let mut url = url.clone();
    // Neither fails for an address with a host, and others have nothing to hide there.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string().trim_end_matches('/').to_owned()
}
