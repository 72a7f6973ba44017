//! A model call outside a turn, for a summary or a question of the program. It has the same idle
//! timeout, retries and cancellation as a call in a turn.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::{Delta, DeltaStream, ModelRequest, Provider, ProviderError, RetryPolicy, StopReason};
use crate::call::{CallContext, CallMeter, Retry};
use crate::error::{Diagnose as _, ErrorKind};
use crate::guard::Guarded;
use crate::ids::Ids;
use crate::message::{Message, MessageState};
use crate::streaming::StreamingAnswer;
use crate::telemetry::{model_call_span, record_error, record_finish, record_usage};

/// Limits one model call outside a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskLimits {
    /// The call fails if its stream sends nothing for this long.
    pub idle_timeout: Duration,
    /// How often, and after which waits, failed attempts are repeated.
    pub retry: RetryPolicy,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { idle_timeout: Duration::from_secs(120), retry: RetryPolicy::default() }
    }
}

/// Calls a model and waits for the complete answer. Failed attempts are reported to the context's
/// [`retries`](CallContext::retries), and what each used to its [`meter`](CallContext::meter). Cancelling the context ends the call.
///
/// # Errors
/// When the call fails after all retries, is cancelled, or its stream ends without a terminal
/// record.
pub async fn ask(
    provider: &dyn Provider,
    request: ModelRequest,
    context: &CallContext,
    limits: AskLimits,
    ids: &dyn Ids,
) -> Result<(Message, StopReason), ProviderError> {
    // As in a turn: the budget begins with the first failure, not with the call that fails.
    let mut failing_since = None;
    let mut failures = 0;
    let work = async {
        loop {
            let span = span(provider, &request.model, context, failures + 1);
            let attempt = attempt(provider, request.clone(), context, limits, ids);
            let error = match attempt.instrument(span.clone()).await {
                Ok((answer, stop)) => {
                    answer.usage.into_iter().for_each(|usage| record_usage(&span, usage));
                    record_finish(&span, &stop);
                    return Ok((answer, stop));
                }
                Err(error) => error,
            };
            record_error(&span, error.kind().code());
            failures += 1;
            let seed = context.session.as_ref().map(|session| session.as_str());
            let spent = failing_since.get_or_insert_with(Instant::now).elapsed();
            let Some(delay) = limits.retry.delay(&error, failures, spent, seed) else {
                return Err(error);
            };
            context.report_retry(Retry { attempt: failures, error: error.to_data(), delay });
            tokio::time::sleep(delay).await;
        }
    };
    tokio::select! {
        biased;
        // First, so that a call which is cancelled and done at once counts as cancelled.
        () = context.cancel.cancelled() => {
            Err(ProviderError::new(ErrorKind::Validation, "the call was cancelled").with_retryable(false))
        }
        answer = work => answer,
    }
}

/// Creates the span of one attempt; its parent is the span of the caller.
fn span(provider: &dyn Provider, model: &str, context: &CallContext, attempt: u32) -> Span {
    let parent = Span::current();
    model_call_span(&parent, context.session.as_ref(), model, provider.name(), attempt)
}

async fn attempt(
    provider: &dyn Provider,
    request: ModelRequest,
    context: &CallContext,
    limits: AskLimits,
    ids: &dyn Ids,
) -> Result<(Message, StopReason), ProviderError> {
    let idle = |_| ProviderError::idle(limits.idle_timeout);
    let meter = context.meter.begin(&request.model);
    let connecting = provider.stream(request, context.clone());
    let stream = tokio::time::timeout(limits.idle_timeout, connecting).await.map_err(idle)??;
    collect(stream, Some(limits.idle_timeout), &meter, ids).await
}

/// Waits for the whole answer of a stream, which may send nothing for as long as `idle_timeout`.
///
/// # Errors
/// When the stream fails, is silent for too long, or ends without a terminal record.
pub(super) async fn collect(
    stream: DeltaStream,
    idle_timeout: Option<Duration>,
    meter: &CallMeter,
    ids: &dyn Ids,
) -> Result<(Message, StopReason), ProviderError> {
    let (mut pending, mut usage) = (StreamingAnswer::default(), None);
    let mut stream = Guarded::new("the provider", stream);
    loop {
        let next = match idle_timeout {
            None => stream.next().await,
            Some(limit) => {
                let idle = |_| ProviderError::idle(limit);
                tokio::time::timeout(limit, stream.next()).await.map_err(idle)?
            }
        };
        let next = next.ok_or_else(ProviderError::panicked)?;
        let Some(delta) = next else { return Err(ProviderError::truncated()) };
        match delta? {
            Delta::Text(text) => pending.push_text(&text),
            Delta::Thinking(text) => pending.push_thinking(&text),
            Delta::Block(block) => {
                pending.push_block(block, ids);
            }
            // Running totals, as in a turn.
            Delta::Usage(now) => {
                meter.set(now);
                usage = Some(now);
            }
            Delta::ToolInput { .. } | Delta::LeftOut(_) | Delta::Activity => {}
            Delta::End(stop) => {
                let blocks = pending.take_blocks();
                let message = Message::assistant(ids, blocks, MessageState::Complete);
                return Ok((message.with_usage(usage), stop));
            }
        }
    }
}

#[cfg(test)]
mod tests;
