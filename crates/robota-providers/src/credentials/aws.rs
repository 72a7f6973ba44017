//! Signature Version 4 of AWS.

use std::collections::BTreeMap;

use jiff::Timestamp;
use robota_core::env_ref::Secret;
use robota_core::hash::{hex, hmac_sha256};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::set_header;
use crate::failure::Failure;
use crate::http::{Method, Request};

/// Access keys, and what they are used for.
pub(crate) struct Aws {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: Secret,
    pub(super) session_token: Option<Secret>,
    pub(super) region: String,
    pub(super) service: String,
}

impl Aws {
    /// Signs a request: its method, address, body, and the headers that identify it.
    pub(super) fn sign(&self, request: &mut Request, now: Timestamp) -> Result<(), Failure> {
        // The form without separators that the algorithm prescribes.
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        set_header(request, "x-amz-date", &time)?;
        if let Some(token) = &self.session_token {
            set_header(request, "x-amz-security-token", token.expose())?;
        }
        // A `BTreeMap`, because the algorithm requires the headers sorted by name.
        let mut headers = BTreeMap::from([("host".to_owned(), host(&request.url))]);
        for (name, value) in &request.headers {
            // Only headers that no proxy changes on the way.
            let signed = name == "content-type" || name.as_str().starts_with("x-amz-");
            if let (true, Ok(value)) = (signed, value.to_str()) {
                headers.insert(name.as_str().to_owned(), value.trim().to_owned());
            }
        }
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let authorization =
            self.authorization(&time, method, &request.url, &headers, &request.body);
        set_header(request, "authorization", &authorization)
    }

    fn authorization(
        &self,
        time: &str,
        method: &str,
        url: &Url,
        headers: &BTreeMap<String, String>,
        body: &[u8],
    ) -> String {
        let names: Vec<&str> = headers.keys().map(String::as_str).collect();
        let names = names.join(";");
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!(
            "{method}\n{}\n{}\n{lines}\n{names}\n{}",
            path(url),
            query(url),
            hex(&Sha256::digest(body))
        );
        let date = time.get(..8).unwrap_or(time);
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let to_sign =
            format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let secret = format!("AWS4{}", self.secret_access_key.expose());
        // The key is bound to the date, the region and the service, so that a leaked one is of
        // little use.
        let key = [date, &self.region, &self.service, "aws4_request"]
            .iter()
            .fold(secret.into_bytes(), |key, part| hmac_sha256(&key, part.as_bytes()).to_vec());
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            self.access_key_id,
            hex(&hmac_sha256(&key, to_sign.as_bytes()))
        )
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns the path in the form that is signed: each part of the path as it is sent, encoded once more.
fn path(url: &Url) -> String {
    let path: Vec<_> = url.path().split('/').map(encode).collect();
    path.join("/")
}

/// Returns the query in the form that is signed: sorted.
fn query(url: &Url) -> String {
    let mut pairs: Vec<_> = url
        .query_pairs()
        .map(|(name, value)| format!("{}={}", encode(&name), encode(&value)))
        .collect();
    pairs.sort();
    pairs.join("&")
}

/// Encodes everything but letters, digits and `-_.~`.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
