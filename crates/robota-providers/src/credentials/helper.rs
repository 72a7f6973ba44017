//! Keys that a program of the user gives, and that can change while a provider is in use.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use robota_core::env_ref::Secret;
use robota_core::provider::FailureReason;

use super::set_header;
use crate::failure::Failure;
use crate::http::Request;

/// Gives the key of a service.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// Returns the key. `renew` asks for a new one, because the service refused the last.
    ///
    /// # Errors
    /// Why there is none.
    async fn key(&self, renew: bool) -> Result<Secret, String>;
}

/// Gets keys from a source of keys, as credentials of a provider.
#[derive(Clone)]
pub struct KeyHelper(Arc<dyn KeySource>);

impl KeyHelper {
    /// Takes keys from this source.
    pub fn new(source: Arc<dyn KeySource>) -> Self {
        Self(source)
    }

    /// Adds the key to a request, in both headers that services know.
    pub(crate) async fn sign(&self, request: &mut Request, renew: bool) -> Result<(), Failure> {
        let key = self.0.key(renew).await;
        let key = key.map_err(|why| Failure::with_reason(FailureReason::BadKey, why))?;
        // Both, because the helper does not say for which service the key is, and services ignore
        // the other one.
        set_header(request, "authorization", &format!("Bearer {}", key.expose()))?;
        set_header(request, "x-api-key", key.expose())
    }
}

impl PartialEq for KeyHelper {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for KeyHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHelper")
    }
}
