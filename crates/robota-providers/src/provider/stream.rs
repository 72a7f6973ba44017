//! Converts the bytes of a response into deltas.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use robota_core::message::Block;
use robota_core::provider::{
    Delta, FailureReason, LeftOut, NativePayload, PayloadKind, PayloadSink, ProviderError,
};
use serde_json::Map;
use tokio::time::{Instant, Sleep};

use super::payload;
use crate::failure::{Failure, ServiceInfo};
use crate::http::{Limits, Scrubber, Sse, network_failure};
use crate::profile::Wire;
use crate::wire::{Decode, DeltaQueue, MODEL_KEY, PREFIX_KEY};

/// How long the end of an answer is held back while the remaining bytes are read: the connection
/// can be reused only after its last bytes were read.
// After the answer only the end of the body is missing. Reading it lets the HTTP client use the
// connection again; waiting longer would delay the answer.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// How long to wait for usage after the model has stopped: services may keep the connection open
/// long after the last event.
// Services that send usage do so within milliseconds after the stop reason.
const USAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// The context of a call that the reader needs for errors and payload reports.
pub(crate) struct CallInfo {
    pub(crate) service: ServiceInfo,
    pub(crate) scrub: Scrubber,
    pub(crate) tap: PayloadSink,
    pub(crate) wire: Wire,
    pub(crate) request_id: Option<String>,
    pub(crate) idle: Option<Duration>,
    /// The fingerprint of the conversation that is answered.
    pub(crate) prefix: String,
}

enum State {
    Reading,
    /// The model has stopped; usage may still follow.
    Stopped(Pin<Box<Sleep>>),
    /// The answer is complete; the response body has not ended yet.
    Draining(Pin<Box<Sleep>>),
    /// Deltas that were decoded before the failure are emitted before it.
    Failed(Box<ProviderError>),
    Closed,
}

type ByteStream = BoxStream<'static, Result<Bytes, reqwest::Error>>;

/// The stream of deltas of one answer.
pub(crate) struct Reader {
    bytes: ByteStream,
    sse: Sse,
    decoder: Box<dyn Decode>,
    queue: DeltaQueue,
    call: CallInfo,
    idle: Option<Pin<Box<Sleep>>>,
    state: State,
}

impl Reader {
    pub(crate) fn new(
        bytes: ByteStream,
        decoder: Box<dyn Decode>,
        limits: Limits,
        call: CallInfo,
    ) -> Self {
        let idle = call.idle.map(|limit| Box::pin(tokio::time::sleep(limit)));
        Self {
            bytes,
            sse: Sse::new(limits),
            decoder,
            queue: DeltaQueue::new(),
            call,
            idle,
            state: State::Reading,
        }
    }

    /// Emits, as the first delta, what was left out of the request.
    pub(crate) fn with_left_out(mut self, left_out: LeftOut) -> Self {
        if !left_out.is_empty() {
            self.queue.push_front(Delta::LeftOut(left_out));
        }
        self
    }

    fn read_chunk(&mut self, chunk: &[u8]) {
        let Self { sse, decoder, queue, call, .. } = self;
        let result = sse.push(chunk, &mut |name, data| {
            report_event(call, name, data);
            decoder.event(name, data, queue)
        });
        match result {
            Err(failure) => self.fail(failure),
            Ok(()) if self.decoder.is_stopped() && matches!(self.state, State::Reading) => {
                // Some services send usage after the stop reason, and some never end the body.
                self.state = State::Stopped(Box::pin(tokio::time::sleep(USAGE_TIMEOUT)));
            }
            Ok(()) => {}
        }
    }

    /// Handles the end of the body, whether clean or broken. An answer that is already complete
    /// stays complete.
    fn finish(&mut self, network_failure: Option<Failure>) {
        let Self { sse, decoder, queue, call, .. } = self;
        // Asked before `finish`, which reports a last event even if it is incomplete.
        let was_mid_event = sse.is_mid_event();
        let non_sse = sse.finish(&mut |name, data| {
            report_event(call, name, data);
            decoder.event(name, data, queue)
        });
        let failure = match non_sse {
            // A truncated event cannot be parsed, and that is expected; the answer may have been
            // complete before it.
            Err(failure) if was_mid_event && failure.reason == Some(FailureReason::Unreadable) => {
                decoder.finish(queue).err()
            }
            Err(failure) => Some(failure),
            Ok(Some(non_sse)) if !decoder.is_done() => Some(non_sse_failure(&non_sse)),
            Ok(_) => decoder.finish(queue).err(),
        };
        match (failure, network_failure) {
            // The answer is complete, so a connection that breaks afterwards does not matter.
            (None, _) => self.state = State::Closed,
            (Some(failure), Some(network_failure))
                // The network failure says why the answer is truncated.
                if failure.reason == Some(FailureReason::Truncated) =>
            {
                self.fail(network_failure);
            }
            (Some(failure), _) => self.fail(failure),
        }
    }

    fn fail(&mut self, mut failure: Failure) {
        if self.decoder.is_done() {
            // The answer is complete: failures after its end do not matter.
            self.state = State::Closed;
            return;
        }
        failure.request_id = failure.request_id.or_else(|| self.call.request_id.clone());
        let error = failure.into_error(&self.call.service, &self.call.scrub);
        self.state = State::Failed(Box::new(error));
    }

    /// Called while no bytes are available. Ends the wait if a time limit has passed, and returns
    /// whether it did.
    fn wait_is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if let State::Stopped(timer) = &mut self.state {
            let expired = timer.as_mut().poll(cx).is_ready();
            if expired {
                self.finish(None);
            }
            return expired;
        }
        let timer = self.idle.as_mut();
        let expired = timer.is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if expired {
            let limit = self.call.idle.unwrap_or_default();
            self.state = State::Failed(Box::new(ProviderError::idle(limit)));
        }
        expired
    }

    /// Records what comes before the answer in blocks that only the same model may receive again.
    fn with_prefix(&self, mut delta: Delta) -> Delta {
        let extra = match &mut delta {
            Delta::Block(Block::Thinking(block)) => &mut block.extra,
            Delta::Block(Block::Opaque(block)) => &mut block.extra,
            Delta::Block(Block::Text(block)) => &mut block.extra,
            Delta::Block(Block::ToolUse(block)) => &mut block.extra,
            _ => return delta,
        };
        if extra.contains_key(MODEL_KEY) {
            extra.insert(PREFIX_KEY.to_owned(), self.call.prefix.as_str().into());
        }
        delta
    }

    /// Restarts the idle timer after bytes have arrived.
    fn rearm(&mut self) {
        if let (Some(idle), Some(limit)) = (&mut self.idle, self.call.idle) {
            idle.as_mut().reset(Instant::now() + limit);
        }
    }
}

/// Reports a received event to the payload tap, if anything listens.
fn report_event(call: &CallInfo, name: &str, data: &str) {
    if !call.tap.is_enabled() {
        return;
    }
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert("event".to_owned(), name.into());
    }
    call.tap.report(NativePayload {
        api_surface: Some(call.wire.name().to_owned()),
        kind: PayloadKind::StreamEvent,
        sequence: None,
        payload: payload(&call.scrub, data),
        metadata,
    });
}

/// Describes a response that is not an event stream: an error with a 2xx status, or other content.
fn non_sse_failure(non_sse: &str) -> Failure {
    let value = serde_json::from_str::<serde_json::Value>(non_sse.trim());
    // One vendor wraps its errors into a list.
    let first = |value: &serde_json::Value| value.get(0).cloned().unwrap_or_else(|| value.clone());
    match value.map(|value| first(&value)) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
            Failure::from_value(&value)
        }
        Ok(value) if value.get("type").is_some_and(|kind| kind == "error") => {
            Failure::from_value(&value)
        }
        Ok(_) => {
            let failure = Failure::with_reason(
                FailureReason::Unreadable,
                "the service returned JSON instead of an event stream; check the address",
            );
            Failure { should_retry: Some(false), ..failure }
        }
        Err(_) => {
            let mut failure = Failure::from_body(non_sse);
            failure.reason = Some(FailureReason::Unreadable);
            failure.should_retry = Some(false);
            failure.message.push_str("; check the address");
            failure
        }
    }
}

impl Stream for Reader {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match this.queue.front() {
                Some(Delta::End(_)) if matches!(this.state, State::Reading | State::Stopped(_)) => {
                    // Before the end is reported: the caller would drop the stream, and the
                    // connection with it.
                    this.state = State::Draining(Box::pin(tokio::time::sleep(DRAIN_TIMEOUT)));
                }
                Some(Delta::End(_)) if matches!(this.state, State::Draining(_)) => {}
                Some(_) => {
                    let delta = this.queue.pop_front();
                    return Poll::Ready(delta.map(|delta| Ok(this.with_prefix(delta))));
                }
                None => {}
            }
            match &mut this.state {
                State::Reading | State::Stopped(_) => match this.bytes.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(chunk))) => {
                        this.rearm();
                        this.read_chunk(&chunk);
                        let still_reading =
                            matches!(this.state, State::Reading | State::Stopped(_));
                        if this.queue.is_empty() && still_reading {
                            // Bytes without content, such as a comment line, restart the idle timer
                            // of the driver.
                            return Poll::Ready(Some(Ok(Delta::Activity)));
                        }
                    }
                    Poll::Ready(Some(Err(error))) => this.finish(Some(network_failure(&error))),
                    Poll::Ready(None) => this.finish(None),
                    Poll::Pending => {
                        if !this.wait_is_over(cx) {
                            return Poll::Pending;
                        }
                    }
                },
                State::Draining(timer) => match this.bytes.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(Some(Err(_)) | None) => this.state = State::Closed,
                    Poll::Pending => {
                        if timer.as_mut().poll(cx).is_pending() {
                            return Poll::Pending;
                        }
                        this.state = State::Closed;
                    }
                },
                State::Failed(_) => {
                    let State::Failed(error) = std::mem::replace(&mut this.state, State::Closed)
                    else {
                        return Poll::Ready(None);
                    };
                    return Poll::Ready(Some(Err(*error)));
                }
                State::Closed if this.queue.is_empty() => return Poll::Ready(None),
                State::Closed => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
