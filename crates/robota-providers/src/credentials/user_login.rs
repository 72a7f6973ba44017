//! The login of a user with Google's command line (`gcloud auth application-default login`): a refresh
//! token (RFC 6749, section 6) is exchanged for a token.

use jiff::Timestamp;
use robota_core::env_ref::Secret;
use serde::Deserialize;
use url::Url;

use super::service_account::TOKEN_ADDRESS;
use super::token::{Exchange, form};
use crate::failure::Failure;
use crate::http::Request;

/// The `type` of the file of such a login.
const TYPE: &str = "authorized_user";

#[derive(Deserialize)]
struct LoginFile {
    client_id: String,
    client_secret: String,
    refresh_token: String,
    #[serde(default)]
    token_uri: Option<String>,
    #[serde(default)]
    quota_project_id: Option<String>,
}

pub(super) struct UserLogin {
    client_id: String,
    client_secret: Secret,
    refresh_token: Secret,
    address: Url,
    quota_project: Option<String>,
}

impl UserLogin {
    /// Reads a credentials file; none if it is not that of a login.
    pub(super) fn parse(credentials_file: &Secret) -> Option<Result<Self, String>> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            name: String,
        }
        let text = credentials_file.expose();
        // Read in two steps: a broken file of this type gets a message about logins, not about
        // service accounts.
        let kind: Kind = serde_json::from_str(text).ok()?;
        (kind.name == TYPE).then(|| {
            let file: LoginFile = serde_json::from_str(text)
                .map_err(|_| "it is not the complete file of a login".to_owned())?;
            let address = file.token_uri.as_deref().unwrap_or(TOKEN_ADDRESS);
            let address = Url::parse(address).map_err(|error| format!("`token_uri`: {error}"))?;
            Ok(Self {
                client_id: file.client_id,
                client_secret: Secret::new(file.client_secret),
                refresh_token: Secret::new(file.refresh_token),
                address,
                quota_project: file.quota_project_id,
            })
        })
    }
}

impl Exchange for UserLogin {
    fn request(&self, _now: Timestamp) -> Result<Request, Failure> {
        let fields = [
            ("grant_type", "refresh_token".to_owned()),
            ("client_id", self.client_id.clone()),
            ("client_secret", self.client_secret.expose().to_owned()),
            ("refresh_token", self.refresh_token.expose().to_owned()),
        ];
        Ok(form(&self.address, &fields))
    }

    fn quota_project(&self) -> Option<&str> {
        self.quota_project.as_deref()
    }
}

#[cfg(test)]
mod tests;
