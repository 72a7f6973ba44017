//! The metadata server of a machine of Google Cloud, which has tokens for the machine's service account.

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::token::Exchange;
use crate::failure::Failure;
use crate::http::{Method, Request};

const PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
/// A header that requests must have, and that answers of the real server have.
const FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
const GOOGLE: HeaderValue = HeaderValue::from_static("Google");

pub(super) struct MetadataServer {
    address: Url,
}

impl MetadataServer {
    /// Reads the name or address of the server, with a port or without.
    pub(super) fn new(host: &str) -> Result<Self, String> {
        let invalid = || format!("`{host}` is not the name of a metadata server");
        let address = Url::parse(&format!("http://{host}")).map_err(|_| invalid())?;
        // A path or a query would send the request for a token to another page of that server.
        let only_host = address.path() == "/"
            && address.username().is_empty()
            && address.query().is_none()
            && address.fragment().is_none();
        if !only_host {
            return Err(invalid());
        }
        Ok(Self { address: address.join(PATH).map_err(|_| invalid())? })
    }
}

impl Exchange for MetadataServer {
    fn request(&self, _now: Timestamp) -> Result<Request, Failure> {
        let headers = HeaderMap::from_iter([(FLAVOR, GOOGLE)]);
        let (method, url) = (Method::Get, self.address.clone());
        Ok(Request { method, url, headers, body: Bytes::new() })
    }

    fn is_local(&self) -> bool {
        // A proxy would see the token, and it could not reach this address anyway.
        true
    }

    fn accepts(&self, headers: &HeaderMap) -> bool {
        // Other programs may answer at this address on machines that are not of Google.
        headers.get(FLAVOR) == Some(&GOOGLE)
    }
}

#[cfg(test)]
mod tests;
