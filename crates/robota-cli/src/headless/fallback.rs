//! Uses a second model while the first one is overloaded (`--fallback-model`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::call::CallContext;
use robota_core::provider::{
    Capabilities, DeltaStream, FailureReason, ModelLimits, ModelRequest, NativeWeb, Provider,
    ProviderError, RateLimits,
};

/// The second model.
#[derive(Clone)]
pub(crate) struct Fallback {
    /// The provider of the model.
    pub(crate) provider: Arc<dyn Provider>,
    /// The model's id.
    pub(crate) model: String,
    /// The model that answered the last call, if it was this one.
    pub(crate) served: Arc<ServedModel>,
}

impl Fallback {
    /// Returns a provider that calls this model when the first one is overloaded.
    pub(crate) fn wrap(&self, first: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(FallbackProvider { first, second: self.clone() })
    }
}

/// The model that answered the last call, if it was not the one that the session asked for.
#[derive(Default)]
pub(crate) struct ServedModel(Mutex<Option<String>>);

impl ServedModel {
    /// Returns the model.
    pub(crate) fn get(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the first provider, and the second one when the first is overloaded.
struct FallbackProvider {
    first: Arc<dyn Provider>,
    second: Fallback,
}

#[async_trait::async_trait]
impl Provider for FallbackProvider {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.first.capabilities()
    }

    fn configure_native_web(&self, web: NativeWeb) -> Result<(), ProviderError> {
        self.first.configure_native_web(web)
    }

    async fn limits(&self, model: &str) -> Option<ModelLimits> {
        self.first.limits(model).await
    }

    async fn count_tokens(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        self.first.count_tokens(request).await
    }

    fn rate_limits(&self) -> Option<RateLimits> {
        self.first.rate_limits()
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let second = &self.second;
        match self.first.stream(request.clone(), context.clone()).await {
            Err(error) if error.reason == Some(FailureReason::Overloaded) => {
                *second.served.lock() = Some(second.model.clone());
                let request = ModelRequest { model: second.model.clone(), ..request };
                second.provider.stream(request, context).await
            }
            answer => {
                *second.served.lock() = None;
                answer
            }
        }
    }
}
