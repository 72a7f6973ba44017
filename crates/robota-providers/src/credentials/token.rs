//! Tokens that expire: requested once, reused, and renewed before they expire.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use robota_core::env_ref::Secret;
use robota_core::provider::FailureReason;
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use crate::failure::Failure;
use crate::host::Host;
use crate::http::{Method, Request};

/// A token is renewed this long before it expires.
const MARGIN: Duration = Duration::from_secs(60);
/// The most bytes of a token service's answer.
const MAX_ANSWER: usize = 64 << 10;

/// What is exchanged for a token.
pub(crate) trait Exchange: Send + Sync {
    /// Returns the request to the token service.
    fn request(&self, now: Timestamp) -> Result<Request, Failure>;

    /// Returns the project that pays for requests, if it is not the one that owns the credentials.
    fn quota_project(&self) -> Option<&str> {
        None
    }

    /// Returns whether the token service is part of this machine, so that no proxy may see its
    /// tokens.
    fn is_local(&self) -> bool {
        false
    }

    /// Returns whether the headers of an answer are those of the token service.
    fn accepts(&self, _headers: &HeaderMap) -> bool {
        true
    }
}

/// Makes the request that sends a form to a token service.
pub(super) fn form(address: &Url, fields: &[(&'static str, String)]) -> Request {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, kind);
    Request { method: Method::Post, url: address.clone(), headers, body: Bytes::from(form) }
}

/// Returns tokens, and requests a new one when the last is about to expire.
pub(crate) struct TokenSource {
    exchange: Box<dyn Exchange>,
    /// The current token and when it expires.
    current: Mutex<Option<(Secret, Timestamp)>>,
}

/// The answer of a token service.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default = "hour")]
    expires_in: u64,
}

fn hour() -> u64 {
    3_600
}

impl TokenSource {
    pub(super) fn new(exchange: Box<dyn Exchange>) -> Self {
        Self { exchange, current: Mutex::new(None) }
    }

    /// Returns the project that pays for requests, if it is not the one that owns the credentials.
    pub(super) fn quota_project(&self) -> Option<&str> {
        self.exchange.quota_project()
    }

    /// Returns a token that is valid now. Requests that need one at the same time wait for the same.
    pub(super) async fn token(&self, host: &Host) -> Result<Secret, Failure> {
        // Held during the request: calls that start at the same time wait for one token.
        let mut current = self.current.lock().await;
        let now = host.clock.now();
        if let Some((token, expires)) = &*current
            && now + MARGIN < *expires
        {
            return Ok(token.clone());
        }
        let (token, lifetime) = self.request(host, now).await?;
        *current = Some((token.clone(), now + lifetime));
        Ok(token)
    }

    async fn request(&self, host: &Host, now: Timestamp) -> Result<(Secret, Duration), Failure> {
        let request = self.exchange.request(now)?;
        let response = if self.exchange.is_local() {
            host.client.send_directly(request).await?
        } else {
            host.client.send(request).await?
        };
        let status = response.status;
        // Before the body is used: on a machine outside of the cloud another server may have
        // answered.
        let accepted = self.exchange.accepts(&response.headers);
        let text = response.text(MAX_ANSWER).await?;
        if !accepted {
            let text = "something else than the token service has answered";
            return Err(Failure::with_reason(FailureReason::BadKey, text));
        }
        if !(200..300).contains(&status) {
            let failure = Failure::from_body(&text);
            let message = format!("the token service refused the credentials: {}", failure.message);
            // A failure of the token service may pass; refused credentials stay refused.
            let reason = if status >= 500 { FailureReason::Server } else { FailureReason::BadKey };
            return Err(Failure { status: Some(status), ..Failure::with_reason(reason, message) });
        }
        let answer: Answer = serde_json::from_str(&text).map_err(|_| {
            let text = "the token service sent an answer without a token";
            Failure::with_reason(FailureReason::Unreadable, text)
        })?;
        Ok((Secret::new(answer.access_token), Duration::from_secs(answer.expires_in)))
    }
}
