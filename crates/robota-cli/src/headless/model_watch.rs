//! What a run knows of its model calls besides the events of the session: the tokens that a service
//! counts when it begins to answer, and its rate limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::ids::TurnId;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, RateLimits,
};
use robota_core::usage::Usage;

/// Watches the model calls of a run.
#[derive(Default)]
pub(crate) struct ModelWatch(Mutex<State>);

#[derive(Default)]
struct State {
    /// The first token counts of the answers of a turn, by the number of messages in the request.
    first: HashMap<(TurnId, u64), Usage>,
    limits: Option<RateLimits>,
}

impl ModelWatch {
    /// Returns a provider that reports its calls here.
    pub(crate) fn wrap(self: &Arc<Self>, inner: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(WatchedProvider { inner, watch: self.clone() })
    }

    /// Returns the first token counts of the answer to a request with this many messages.
    pub(crate) fn take_first_usage(&self, turn: &TurnId, messages: u64) -> Option<Usage> {
        self.lock().first.remove(&(turn.clone(), messages))
    }

    /// Returns the rate limits that the last response described.
    pub(crate) fn rate_limits(&self) -> Option<RateLimits> {
        self.lock().limits.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct WatchedProvider {
    inner: Arc<dyn Provider>,
    watch: Arc<ModelWatch>,
}

#[async_trait::async_trait]
impl Provider for WatchedProvider {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Provider> {
        Some(&*self.inner)
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let messages = request.messages.len() as u64;
        let turn = context.turn.clone();
        let answer = self.inner.stream(request, context).await;
        self.watch.lock().limits = self.inner.rate_limits();
        let stream = answer?;
        let Some(turn) = turn else { return Ok(stream) };
        let watch = self.watch.clone();
        let mut key = Some((turn, messages));
        Ok(stream
            .inspect(move |item| {
                if let Ok(Delta::Usage(usage)) = item
                    && let Some(key) = key.take()
                {
                    let mut state = watch.lock();
                    state.first.retain(|(turn, _), _| *turn == key.0);
                    state.first.insert(key, *usage);
                }
            })
            .boxed())
    }
}
