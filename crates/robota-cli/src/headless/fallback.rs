//! Uses other models while the first one is overloaded (`--fallback-model`), in the given order.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::hook::{ModelSwitch, ModelSwitchSource};
use robota_core::provider::{
    Delta, DeltaStream, FailureReason, ModelRequest, Provider, ProviderError,
};

/// The model that is used next.
#[derive(Clone)]
pub(crate) struct Fallback {
    /// The provider of the model, which uses the models after it.
    provider: Arc<dyn Provider>,
    /// The model's id.
    model: String,
    /// The model that answered the last call, if it was one of these.
    pub(crate) served: Arc<ServedModel>,
    /// Takes why a model of the chain was not used.
    blocked: Arc<BlockedNotice>,
}

/// Takes a text for the user.
type Show = Box<dyn Fn(&str) + Send + Sync>;

/// Shows why a model was not used. Each attempt asks the hooks again; the same text is shown once.
#[derive(Default)]
struct BlockedNotice {
    show: OnceLock<Show>,
    last: Mutex<Option<String>>,
}

impl BlockedNotice {
    fn show(&self, text: String) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() == Some(&text) {
            return;
        }
        if let Some(show) = self.show.get() {
            show(&text);
        }
        *last = Some(text);
    }
}

impl Fallback {
    /// Returns the first of these models; each uses the next one while it is overloaded. None for no
    /// models.
    pub(crate) fn chain(models: Vec<(Arc<dyn Provider>, String)>) -> Option<Self> {
        let served: Arc<ServedModel> = Arc::default();
        let blocked: Arc<BlockedNotice> = Arc::default();
        let mut chain: Option<Self> = None;
        // From the last one: each provider contains those after it.
        for (provider, model) in models.into_iter().rev() {
            let provider: Arc<dyn Provider> = match chain {
                Some(second) => {
                    let first_model = Some(model.clone());
                    Arc::new(FallbackProvider { first: provider, first_model, second })
                }
                None => provider,
            };
            let (served, blocked) = (served.clone(), blocked.clone());
            chain = Some(Self { provider, model, served, blocked });
        }
        chain
    }

    /// Returns a provider that calls this model when the first one is overloaded.
    pub(crate) fn wrap(&self, first: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(FallbackProvider { first, first_model: None, second: self.clone() })
    }

    /// Shows to the user why a model is not used, when hooks block it. The first function counts.
    pub(crate) fn on_blocked(&self, show: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.blocked.show.set(Box::new(show));
    }

    /// Calls this model instead of one that is overloaded with that error, unless hooks block it.
    async fn stream_instead(
        &self,
        first: Option<&String>,
        request: ModelRequest,
        context: CallContext,
        error: ProviderError,
    ) -> Result<DeltaStream, ProviderError> {
        let switch = ModelSwitch {
            old_model: first.unwrap_or(&request.model).clone(),
            new_model: self.model.clone(),
            source: ModelSwitchSource::Fallback,
        };
        if let Err(reason) = switch.ask(&*context.hooks).await {
            let mut text = format!("the fallback model {} is not used: {reason}", self.model);
            context.redactor.clean(&mut text);
            tracing::info!("{text}");
            self.blocked.show(text);
            // The error of the overloaded model, whose call is retried as without other models.
            return Err(error);
        }
        // Before the call: the provider may be a chain itself, which then sets the model that
        // answers.
        *self.served.lock() = Some(self.model.clone());
        let hooks = context.hooks.clone();
        let request = ModelRequest { model: self.model.clone(), ..request };
        let stream = self.provider.stream(request, context).await?;
        switch.announce(&*hooks).await;
        Ok(stream)
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
    /// The first model, if it is not the one that the session asked for.
    first_model: Option<String>,
    second: Fallback,
}

#[async_trait::async_trait]
impl Provider for FallbackProvider {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn inner(&self) -> Option<&dyn Provider> {
        // Capabilities and limits are those of the model that the session named.
        Some(&*self.first)
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        match self.first.stream(request.clone(), context.clone()).await {
            Err(error) if is_overloaded(&error) => {
                let first = self.first_model.as_ref();
                self.second.stream_instead(first, request, context, error).await
            }
            Err(error) => {
                *self.second.served.lock() = self.first_model.clone();
                Err(error)
            }
            Ok(stream) => {
                // Before the answer is read: at its end, its tokens are counted for this model.
                *self.second.served.lock() = self.first_model.clone();
                let second = Some(Second {
                    first_model: self.first_model.clone(),
                    fallback: self.second.clone(),
                    request,
                    context,
                });
                Ok(switching(SwitchingStream { stream, second }))
            }
        }
    }
}

/// An answer of the first model, which the second one replaces if the first reports an overload
/// before any of its answer was passed on.
struct SwitchingStream {
    stream: DeltaStream,
    second: Option<Second>,
}

/// The call of the second model.
struct Second {
    /// The first model, if it is not the one that the session asked for.
    first_model: Option<String>,
    fallback: Fallback,
    request: ModelRequest,
    context: CallContext,
}

fn switching(state: SwitchingStream) -> DeltaStream {
    futures::stream::unfold(state, |mut state| async move {
        loop {
            let item = state.stream.next().await?;
            match &item {
                Err(error) if is_overloaded(error) => {
                    if let Some(Second { first_model, fallback, request, context }) =
                        state.second.take()
                    {
                        let first = first_model.as_ref();
                        let answer =
                            fallback.stream_instead(first, request, context, error.clone());
                        match answer.await {
                            Ok(stream) => state.stream = stream,
                            Err(error) => return Some((Err(error), state)),
                        }
                        continue;
                    }
                }
                // Nothing of the answer yet.
                Ok(Delta::Usage(_) | Delta::LeftOut(_) | Delta::Activity) => {}
                Ok(
                    Delta::Text(_)
                    | Delta::Thinking(_)
                    | Delta::ToolInput { .. }
                    | Delta::Block(_)
                    | Delta::End(_),
                )
                | Err(_) => state.second = None,
            }
            return Some((item, state));
        }
    })
    .boxed()
}

fn is_overloaded(error: &ProviderError) -> bool {
    error.reason == Some(FailureReason::Overloaded)
}

#[cfg(test)]
mod tests;
