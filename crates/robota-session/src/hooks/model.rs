//! Hooks before and after a model call: a provider that wraps another one.

use std::sync::Arc;

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::error::ErrorKind;
use robota_core::ids::Ids;
use robota_core::message::{Message, MessageState};
use robota_core::provider::{Delta, DeltaStream, ModelRequest, Provider, ProviderError};
use robota_core::streaming::StreamingAnswer;

use super::{CodeHook, HookChain};

/// A provider that runs the hooks of a session around its calls.
pub(crate) struct HookedProvider {
    inner: Arc<dyn Provider>,
    hooks: Arc<HookChain>,
    ids: Arc<dyn Ids>,
}

impl HookedProvider {
    /// Wraps the provider, or returns it unchanged if there is no hook.
    pub(crate) fn wrap(
        inner: Arc<dyn Provider>,
        hooks: &Arc<HookChain>,
        ids: &Arc<dyn Ids>,
    ) -> Arc<dyn Provider> {
        // A session without hooks in code pays nothing for them.
        if hooks.code().is_empty() {
            return inner;
        }
        Arc::new(Self { inner, hooks: Arc::clone(hooks), ids: Arc::clone(ids) })
    }
}

fn refused(hook: &dyn CodeHook, what: &str, reason: &str) -> ProviderError {
    let text = format!("the hook `{}` refused {what}: {reason}", hook.name());
    ProviderError::new(ErrorKind::Plugin, text).with_retryable(false)
}

#[async_trait::async_trait]
impl Provider for HookedProvider {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Provider> {
        Some(&*self.inner)
    }

    async fn stream(
        &self,
        mut request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        // The list of this moment, for the whole call: a hook that is added meanwhile sees the next
        // one.
        let hooks = self.hooks.code();
        for hook in &hooks {
            hook.pre_model(&mut request, self.hooks.scope())
                .await
                .map_err(|reason| refused(&**hook, "the call", &reason))?;
        }
        let stream = self.inner.stream(request, context).await?;
        let hooked = HookedStream {
            stream,
            pending: StreamingAnswer::default(),
            hooks,
            chain: Arc::clone(&self.hooks),
            ids: Arc::clone(&self.ids),
        };
        Ok(futures::stream::unfold(Some(hooked), |hooked| async move {
            let mut hooked = hooked?;
            let item = hooked.stream.next().await?;
            match hooked.on_delta(item).await {
                Ok(delta) => Some((Ok(delta), Some(hooked))),
                // A refused answer ends the stream, so that nothing of it is committed as complete.
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed())
    }
}

/// A stream that runs the hooks before it ends.
struct HookedStream {
    stream: DeltaStream,
    pending: StreamingAnswer,
    hooks: Vec<Arc<dyn CodeHook>>,
    chain: Arc<HookChain>,
    ids: Arc<dyn Ids>,
}

impl HookedStream {
    async fn on_delta(
        &mut self,
        item: Result<Delta, ProviderError>,
    ) -> Result<Delta, ProviderError> {
        let delta = item?;
        match &delta {
            Delta::Text(text) => self.pending.push_text(text),
            Delta::Thinking(text) => self.pending.push_thinking(text),
            Delta::Block(block) => {
                self.pending.push_block(block.clone(), &*self.ids);
            }
            Delta::End(_) => {
                let blocks = self.pending.take_blocks();
                let answer = Message::assistant(&*self.ids, blocks, MessageState::Complete);
                for hook in &self.hooks {
                    hook.post_model(&answer, self.chain.scope())
                        .await
                        .map_err(|reason| refused(&**hook, "the answer", &reason))?;
                }
            }
            Delta::ToolInput { .. } | Delta::Usage(_) | Delta::LeftOut(_) | Delta::Activity => {}
        }
        Ok(delta)
    }
}
