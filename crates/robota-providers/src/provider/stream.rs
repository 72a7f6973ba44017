//! From bytes to deltas.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use robota_core::provider::{
    Delta, FailureReason, LeftOut, NativePayload, PayloadKind, PayloadSink, ProviderError,
};
use serde_json::Map;
use tokio::time::{Instant, Sleep};

use super::payload;
use crate::failure::{About, Failure};
use crate::http::{Limits, Scrubber, Sse, broken};
use crate::profile::Wire;
use crate::wire::{Decode, Out};

/// How long the end of an answer may be held back for the end of its bytes: a connection whose
/// last bytes were read can be used again.
const DRAIN: Duration = Duration::from_millis(20);

/// How long what an answer cost is waited for once the model has stopped: services keep
/// connections open long after their last word.
const AFTERMATH: Duration = Duration::from_secs(1);

/// What is known about a call beside its bytes.
pub(crate) struct Call {
    pub(crate) about: About,
    pub(crate) scrub: Scrubber,
    pub(crate) tap: PayloadSink,
    pub(crate) wire: Wire,
    pub(crate) request_id: Option<String>,
    pub(crate) idle: Option<Duration>,
}

enum State {
    Reading,
    /// The model has stopped; what that cost may follow.
    Stopped(Pin<Box<Sleep>>),
    /// The answer is complete; its bytes are not.
    Draining(Pin<Box<Sleep>>),
    /// What was read before is told before.
    Failed(Box<ProviderError>),
    Closed,
}

type ByteStream = BoxStream<'static, Result<Bytes, reqwest::Error>>;

/// An answer as it comes.
pub(crate) struct Reader {
    bytes: ByteStream,
    sse: Sse,
    decoder: Box<dyn Decode>,
    queue: Out,
    call: Call,
    idle: Option<Pin<Box<Sleep>>>,
    state: State,
}

impl Reader {
    pub(crate) fn new(
        bytes: ByteStream,
        decoder: Box<dyn Decode>,
        limits: Limits,
        call: Call,
    ) -> Self {
        let idle = call.idle.map(|limit| Box::pin(tokio::time::sleep(limit)));
        Self {
            bytes,
            sse: Sse::new(limits),
            decoder,
            queue: Out::new(),
            call,
            idle,
            state: State::Reading,
        }
    }

    /// Tells first what the request was without.
    pub(crate) fn without(mut self, left_out: LeftOut) -> Self {
        if !left_out.is_empty() {
            self.queue.push_front(Delta::LeftOut(left_out));
        }
        self
    }

    fn chunk(&mut self, chunk: &[u8]) {
        let Self { sse, decoder, queue, call, .. } = self;
        let result = sse.push(chunk, &mut |name, data| {
            tell(call, name, data);
            decoder.event(name, data, queue)
        });
        match result {
            Err(failure) => self.fail(failure),
            Ok(()) if self.decoder.is_stopped() && matches!(self.state, State::Reading) => {
                self.state = State::Stopped(Box::pin(tokio::time::sleep(AFTERMATH)));
            }
            Ok(()) => {}
        }
    }

    /// The bytes are over, well or not. An answer that was complete without them is complete.
    fn end(&mut self, broken: Option<Failure>) {
        let Self { sse, decoder, queue, call, .. } = self;
        let was_mid_event = sse.is_mid_event();
        let bare = sse.finish(&mut |name, data| {
            tell(call, name, data);
            decoder.event(name, data, queue)
        });
        let failure = match bare {
            // An event that was cut off cannot be read, which is no wonder; the answer may have
            // been complete before it.
            Err(failure) if was_mid_event && failure.reason == Some(FailureReason::Unreadable) => {
                decoder.finish(queue).err()
            }
            Err(failure) => Some(failure),
            Ok(Some(bare)) if !decoder.is_done() => Some(no_stream(&bare)),
            Ok(_) => decoder.finish(queue).err(),
        };
        match (failure, broken) {
            (None, _) => self.state = State::Closed,
            (Some(failure), Some(broken)) if failure.reason == Some(FailureReason::Truncated) => {
                self.fail(broken);
            }
            (Some(failure), _) => self.fail(failure),
        }
    }

    fn fail(&mut self, mut failure: Failure) {
        if self.decoder.is_done() {
            // The answer is complete: nothing after its end can spoil it.
            self.state = State::Closed;
            return;
        }
        failure.request_id = failure.request_id.or_else(|| self.call.request_id.clone());
        let error = failure.into_error(&self.call.about, &self.call.scrub);
        self.state = State::Failed(Box::new(error));
    }

    /// No bytes are there. Ends the wait for them when it has been long enough; says whether.
    fn waited_enough(&mut self, cx: &mut Context<'_>) -> bool {
        if let State::Stopped(timer) = &mut self.state {
            let over = timer.as_mut().poll(cx).is_ready();
            if over {
                self.end(None);
            }
            return over;
        }
        let timer = self.idle.as_mut();
        let over = timer.is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if over {
            let limit = self.call.idle.unwrap_or_default();
            self.state = State::Failed(Box::new(ProviderError::idle(limit)));
        }
        over
    }

    /// Bytes came: the silence is over.
    fn rearm(&mut self) {
        if let (Some(idle), Some(limit)) = (&mut self.idle, self.call.idle) {
            idle.as_mut().reset(Instant::now() + limit);
        }
    }
}

/// Tells whoever wants to know what came over the wire.
fn tell(call: &Call, name: &str, data: &str) {
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

/// What came is no event stream: an error told with a good status, or something else entirely.
fn no_stream(bare: &str) -> Failure {
    let value = serde_json::from_str::<serde_json::Value>(bare.trim());
    let first = |value: &serde_json::Value| value.get(0).cloned().unwrap_or_else(|| value.clone());
    match value.map(|value| first(&value)) {
        Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
            Failure::from_value(&value)
        }
        Ok(value) if value.get("type").is_some_and(|kind| kind == "error") => {
            Failure::from_value(&value)
        }
        Ok(_) => {
            let failure = Failure::of(
                FailureReason::Unreadable,
                "the service answered with JSON instead of a stream of events; is the address right?",
            );
            Failure { should_retry: Some(false), ..failure }
        }
        Err(_) => {
            let mut failure = Failure::from_body(bare);
            failure.reason = Some(FailureReason::Unreadable);
            failure.should_retry = Some(false);
            failure.message.push_str("; is the address right?");
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
                    this.state = State::Draining(Box::pin(tokio::time::sleep(DRAIN)));
                }
                Some(Delta::End(_)) if matches!(this.state, State::Draining(_)) => {}
                Some(_) => return Poll::Ready(this.queue.pop_front().map(Ok)),
                None => {}
            }
            match &mut this.state {
                State::Reading | State::Stopped(_) => match this.bytes.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(chunk))) => {
                        this.rearm();
                        this.chunk(&chunk);
                        let goes_on = matches!(this.state, State::Reading | State::Stopped(_));
                        if this.queue.is_empty() && goes_on {
                            return Poll::Ready(Some(Ok(Delta::Activity)));
                        }
                    }
                    Poll::Ready(Some(Err(error))) => this.end(Some(broken(&error))),
                    Poll::Ready(None) => this.end(None),
                    Poll::Pending => {
                        if !this.waited_enough(cx) {
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
