//! What every provider of a program shares.

use std::fmt;
use std::sync::Arc;

use robota_core::clock::{Clock, SystemClock};

use crate::http::{HttpClient, Transport};

/// What every provider of a program shares: its connections and the time of day. Cloning is cheap and shares them.
#[derive(Clone)]
pub struct Host {
    pub(crate) client: Arc<HttpClient>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Host {
    /// A host that reaches services in this way, with the machine's clock.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self { client: Arc::new(HttpClient::new(transport)), clock: Arc::new(SystemClock) }
    }

    /// The same host with another clock, against which dates of services are held.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new(Transport::default())
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("client", &self.client).finish_non_exhaustive()
    }
}
