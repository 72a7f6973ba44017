//! What all providers of a program share.

use std::fmt;
use std::sync::Arc;

use robota_core::clock::{Clock, SystemClock};

use crate::http::{HttpClient, HttpClientOptions};

/// What all providers of a program share: the HTTP connections and the clock. A clone shares them
/// and is cheap.
#[derive(Clone)]
pub struct Host {
    pub(crate) client: Arc<HttpClient>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Host {
    /// Creates a host with this transport and the system clock.
    #[must_use]
    pub fn new(transport: HttpClientOptions) -> Self {
        Self { client: Arc::new(HttpClient::new(transport)), clock: Arc::new(SystemClock) }
    }

    /// Replaces the clock. Retry dates of services that send no `date` header are compared with it.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new(HttpClientOptions::default())
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("client", &self.client).finish_non_exhaustive()
    }
}
