//! Applications of Microsoft Entra: client credentials (RFC 6749, section 4.4) are exchanged for a
//! token.

use jiff::Timestamp;
use robota_core::env_ref::Secret;
use url::Url;

use super::token::{Exchange, form};
use crate::failure::Failure;
use crate::http::Request;

const AUTHORITY: &str = "https://login.microsoftonline.com";
// The scope of all models on Azure; `.default` stands for the rights that the application was
// given.
const SCOPE: &str = "https://cognitiveservices.azure.com/.default";

pub(super) struct Application {
    address: Url,
    client_id: String,
    client_secret: Secret,
}

impl Application {
    pub(super) fn new(
        tenant: &str,
        client_id: &str,
        client_secret: &Secret,
        authority: Option<&str>,
    ) -> Result<Self, String> {
        let authority = authority.unwrap_or(AUTHORITY).trim_end_matches('/');
        let address = Url::parse(&format!("{authority}/{tenant}/oauth2/v2.0/token"))
            .map_err(|error| format!("the address of the login service is invalid: {error}"))?;
        Ok(Self { address, client_id: client_id.to_owned(), client_secret: client_secret.clone() })
    }
}

impl Exchange for Application {
    fn request(&self, _now: Timestamp) -> Result<Request, Failure> {
        let fields = [
            ("grant_type", "client_credentials".to_owned()),
            ("client_id", self.client_id.clone()),
            ("client_secret", self.client_secret.expose().to_owned()),
            ("scope", SCOPE.to_owned()),
        ];
        Ok(form(&self.address, &fields))
    }
}
