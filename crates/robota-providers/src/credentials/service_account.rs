//! Service accounts of Google: an assertion (RFC 7523), signed with the account's key, is exchanged for
//! a token.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use robota_core::env_ref::Secret;
use robota_core::provider::FailureReason;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::token::{Exchange, form};
use crate::failure::Failure;
use crate::http::Request;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
pub(super) const TOKEN_ADDRESS: &str = "https://oauth2.googleapis.com/token";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The longest lifetime that Google accepts, in seconds.
const LIFETIME: i64 = 3_600;

/// The file of a service account's key.
#[derive(Deserialize)]
struct KeyFile {
    client_email: String,
    private_key: String,
    #[serde(default)]
    private_key_id: Option<String>,
    #[serde(default)]
    token_uri: Option<String>,
}

pub(super) struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    key: RsaKeyPair,
    address: Url,
}

impl ServiceAccount {
    /// Reads a key file.
    pub(super) fn parse(key_file: &Secret) -> Result<Self, String> {
        let file: KeyFile = serde_json::from_str(key_file.expose())
            .map_err(|_| not_a_key_file(key_file.expose()))?;
        let address = file.token_uri.as_deref().unwrap_or(TOKEN_ADDRESS);
        Ok(Self {
            key: key_pair(&file.private_key)?,
            email: file.client_email,
            key_id: file.private_key_id,
            address: Url::parse(address).map_err(|error| format!("`token_uri`: {error}"))?,
        })
    }

    fn assertion(&self, now: Timestamp) -> Result<String, Failure> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.key_id {
            header["kid"] = id.as_str().into();
        }
        let issued = now.as_second();
        let claims = json!({
            "iss": self.email,
            "scope": SCOPE,
            // The assertion is valid at this token service only.
            "aud": self.address.as_str(),
            "iat": issued,
            "exp": issued + LIFETIME,
        });
        sign(&self.key, &header.to_string(), &claims.to_string())
    }
}

impl Exchange for ServiceAccount {
    fn request(&self, now: Timestamp) -> Result<Request, Failure> {
        let fields = [("grant_type", GRANT.to_owned()), ("assertion", self.assertion(now)?)];
        Ok(form(&self.address, &fields))
    }
}

/// Says why a file cannot be used.
fn not_a_key_file(text: &str) -> String {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    match file["type"].as_str() {
        Some(kind) if kind != "service_account" => format!(
            "credentials of the type `{kind}` are not supported; use the key file of a service \
             account, or that of `gcloud auth application-default login`"
        ),
        _ => "it is not the key file of a service account".to_owned(),
    }
}

/// Reads a private key in PEM (PKCS #8).
fn key_pair(pem: &str) -> Result<RsaKeyPair, String> {
    let lines = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
    let der = STANDARD
        .decode(lines.collect::<String>())
        .map_err(|_| "`private_key` is not a key in PEM".to_owned())?;
    RsaKeyPair::from_pkcs8(&der).map_err(|error| format!("`private_key` cannot be used: {error}"))
}

/// Signs a header and claims (RFC 7515, compact form, RS256).
fn sign(key: &RsaKeyPair, header: &str, claims: &str) -> Result<String, Failure> {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).map_err(
        |_| {
            Failure::with_reason(
                FailureReason::BadKey,
                "the key of the service account cannot sign",
            )
        },
    )?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests;
