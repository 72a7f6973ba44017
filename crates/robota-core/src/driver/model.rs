//! One model call: the connection, the stream, the idle timeout.

use std::collections::VecDeque;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use tracing::{Instrument as _, Span};

use super::task_events::TaskEventQueue;
use super::{Ports, SessionConfig, provider_name};
use crate::call::CallContext;
use crate::error::{Diagnose as _, ErrorKind};
use crate::event::{ProviderPayload, Purpose};
use crate::guard::Guarded;
use crate::message::Message;
use crate::provider::{
    Delta, DeltaStream, ModelRequest, PayloadSink, ProviderError, ToolChoice, check_native_web,
};
use crate::redact::Redactor;
use crate::state::State;
use crate::telemetry;
use crate::turn::{Input, ModelCall};

/// Text that has arrived is passed to the machine in pieces of at most this many bytes. Reasoning
/// and arguments of calls count as text.
const CHUNK: usize = 4 * 1024;
/// At most this many deltas are read from a stream before the turn does other work.
const BATCH: usize = 1024;
/// Text that arrives within this time is passed on together, so that it becomes one event. The
/// first piece is passed on immediately, so that a slow stream is not delayed.
const WINDOW: Duration = Duration::from_millis(10);

/// How the log names what panicked.
const PROVIDER: &str = "the provider";

type Item = Option<Result<Delta, ProviderError>>;

/// What a model call gets in addition to its request.
pub(super) struct ModelScope<'a> {
    pub(super) context: CallContext,
    pub(super) task_events: &'a TaskEventQueue,
    /// The span of its round, the parent of the span of the call.
    pub(super) round: &'a Span,
}

pub(super) struct ModelRun {
    stage: Stage,
    span: Span,
    idle_timeout: Duration,
    deadline: Instant,
    buffer: DeltaBuffer,
    /// When text was last passed to the machine; `None` before the first.
    last_passed_on: Option<Instant>,
    /// Cancels the call's context when the call is dropped.
    _cancel: DropGuard,
}

enum Stage {
    Connecting(Guarded<BoxFuture<'static, Result<DeltaStream, ProviderError>>>),
    Streaming(Guarded<DeltaStream>),
}

impl ModelRun {
    pub(super) fn start(
        ports: &Ports,
        config: &SessionConfig,
        state: &State,
        call: ModelCall,
        ModelScope { mut context, task_events, round: parent }: ModelScope<'_>,
    ) -> Self {
        let (round, attempt) = (call.round, call.attempt);
        let request = request(ports, config, state, call);
        let provider = ports.provider.clone();
        let (session, name) = (context.session.as_ref(), provider_name(&*provider));
        let span = telemetry::model_call_span(parent, session, &request.model, &name, attempt);
        // Raw payloads can be larger than the conversation, so they are recorded only on request.
        if config.record_payloads {
            let redactor = config.redactor.clone();
            context.payloads = payload_sink(round, name, task_events.clone(), redactor);
        }
        let cancel = context.cancel.clone().drop_guard();
        let connecting = async move {
            check_native_web(&provider.capabilities(), request.native_web)?;
            provider.stream(request, context).await
        };
        let connecting = connecting.instrument(span.clone()).boxed();
        Self {
            stage: Stage::Connecting(Guarded::new(PROVIDER, connecting)),
            span,
            idle_timeout: config.idle_timeout,
            deadline: Instant::now() + config.idle_timeout,
            buffer: DeltaBuffer::default(),
            last_passed_on: None,
            _cancel: cancel,
        }
    }

    /// Returns the next inputs from the call; never returns while there is no call. Cancel safe:
    /// what was not returned stays in the buffer.
    pub(super) async fn next(run: &mut Option<Self>) -> VecDeque<Input> {
        let Some(this) = run else { return std::future::pending().await };
        // If the previous future was dropped while it waited for more text, the buffer has some
        // already.
        if this.buffer.is_empty() {
            // A deadline and not a duration: this future is dropped and created again whenever the
            // session does something else.
            let item = match tokio::time::timeout_at(this.deadline, this.next_item()).await {
                Ok(item) => item,
                Err(_elapsed) => Some(Err(ProviderError::idle(this.idle_timeout))),
            };
            this.buffer_item(item);
        }
        this.buffer_arrived();
        if let Some(last) = this.last_passed_on
            && this.buffer.may_wait()
        {
            // One timer for everything that arrives within the window.
            let due = tokio::time::sleep_until(last + WINDOW);
            tokio::pin!(due);
            while this.buffer.may_wait() {
                tokio::select! {
                    biased;
                    item = this.next_item() => this.buffer_item(item),
                    () = &mut due => break,
                }
                this.buffer_arrived();
            }
        }
        let now = Instant::now();
        // Everything that arrives restarts the idle timer, also bytes without content.
        this.deadline = now + this.idle_timeout;
        if this.buffer.bytes > 0 {
            this.last_passed_on = Some(now);
        }
        // Read before the buffer is taken, which resets it.
        let ended = this.buffer.ended;
        let inputs = this.take_arrived();
        if ended {
            // After an end or a failure the stream is not polled again: not every stream allows
            // that.
            *run = None;
        }
        inputs
    }

    /// Returns what has arrived and was not returned yet.
    pub(super) fn take_arrived(&mut self) -> VecDeque<Input> {
        std::mem::take(&mut self.buffer).inputs
    }

    fn buffer_arrived(&mut self) {
        while self.buffer.accepts_more()
            && let Some(item) = self.next_item().now_or_never()
        {
            self.buffer_item(item);
        }
    }

    fn buffer_item(&mut self, item: Item) {
        match &item {
            Some(Ok(Delta::Usage(usage))) => telemetry::record_usage(&self.span, *usage),
            Some(Ok(Delta::End(stop))) => telemetry::record_finish(&self.span, stop),
            Some(Err(error)) => telemetry::record_error(&self.span, error.kind().code()),
            None => telemetry::record_error(&self.span, ErrorKind::Network.code()),
            Some(Ok(_)) => {}
        }
        self.buffer.push(item);
    }

    /// Returns the next item of the stream. Cancel safe: what was not returned stays in the stream.
    async fn next_item(&mut self) -> Item {
        loop {
            match &mut self.stage {
                Stage::Connecting(connecting) => match connecting.await {
                    Some(Ok(stream)) => {
                        self.stage = Stage::Streaming(Guarded::new(PROVIDER, stream));
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => return Some(Err(ProviderError::panicked())),
                },
                Stage::Streaming(stream) => {
                    let item = stream.next().instrument(self.span.clone()).await;
                    return item.unwrap_or_else(|| Some(Err(ProviderError::panicked())));
                }
            }
        }
    }
}

/// What has arrived and was not passed on yet. Consecutive pieces of text are joined.
#[derive(Default)]
struct DeltaBuffer {
    inputs: VecDeque<Input>,
    /// The number of deltas that it was made from.
    pieces: usize,
    /// The number of bytes of text.
    bytes: usize,
    /// Whether it contains anything other than text, which is passed on without delay.
    urgent: bool,
    /// Whether the stream has ended: nothing more is read from it.
    ended: bool,
}

impl DeltaBuffer {
    fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    fn push(&mut self, item: Item) {
        self.pieces += 1;
        let delta = match item {
            Some(Ok(delta)) => delta,
            Some(Err(error)) => return self.end(Input::ModelFailed(error)),
            // A stream has to say that it ends; a closed connection in the middle looks the same as
            // a short answer.
            None => return self.end(Input::ModelFailed(ProviderError::truncated())),
        };
        match delta {
            Delta::Text(text) => {
                self.bytes += text.len();
                match self.inputs.back_mut() {
                    Some(Input::Delta(Delta::Text(last))) if fits(last, &text) => {
                        last.push_str(&text);
                    }
                    _ => self.inputs.push_back(Input::Delta(Delta::Text(text))),
                }
            }
            Delta::Thinking(text) => {
                self.bytes += text.len();
                match self.inputs.back_mut() {
                    Some(Input::Delta(Delta::Thinking(last))) if fits(last, &text) => {
                        last.push_str(&text);
                    }
                    _ => self.inputs.push_back(Input::Delta(Delta::Thinking(text))),
                }
            }
            Delta::ToolInput { index, id, name, json } => {
                self.bytes += json.len();
                match self.inputs.back_mut() {
                    Some(Input::Delta(Delta::ToolInput { index: at, json: last, .. }))
                        // A piece with a name or an id starts another call.
                        if *at == index && name.is_none() && id.is_none() && fits(last, &json) =>
                    {
                        last.push_str(&json);
                    }
                    _ => {
                        let delta = Delta::ToolInput { index, id, name, json };
                        self.inputs.push_back(Input::Delta(delta));
                    }
                }
            }
            // Its arrival alone keeps the call from timing out.
            Delta::Activity => {}
            end @ Delta::End(_) => self.end(Input::Delta(end)),
            delta @ (Delta::Block(_) | Delta::Usage(_) | Delta::LeftOut(_)) => {
                self.urgent = true;
                self.inputs.push_back(Input::Delta(delta));
            }
        }
    }

    fn end(&mut self, input: Input) {
        self.urgent = true;
        self.ended = true;
        self.inputs.push_back(input);
    }

    fn accepts_more(&self) -> bool {
        self.pieces < BATCH && !self.ended
    }

    /// Returns true if the buffer has so little text that it can wait for more.
    fn may_wait(&self) -> bool {
        self.pieces < BATCH && self.bytes < CHUNK && !self.urgent
    }
}

fn fits(last: &str, more: &str) -> bool {
    last.len() + more.len() <= CHUNK
}

fn request(ports: &Ports, config: &SessionConfig, state: &State, call: ModelCall) -> ModelRequest {
    ModelRequest {
        model: config.turn.model.clone(),
        system: config.system.clone(),
        // A clone of a pointer: the conversation itself is shared with the state.
        messages: state.view.messages.clone(),
        instruction: call.instruction.map(|text| Message::user(&*ports.ids, text)),
        tools: ports.tools.specs(),
        // A summary keeps the tools: without them, services could not reuse the cached prefix.
        tool_choice: match call.purpose {
            Purpose::Answer => ToolChoice::Auto,
            Purpose::SummaryAtLimit | Purpose::SummaryWithoutTools => ToolChoice::None,
        },
        output: config.output.clone(),
        max_output_tokens: Some(call.max_output),
        temperature: config.temperature,
        native_web: config.native_web,
        // Services route requests with the same key to the machine that has the prefix in its
        // cache.
        cache_key: state.session.as_ref().map(ToString::to_string),
        options: config.options.clone(),
    }
}

fn payload_sink(
    round: u32,
    provider: String,
    task_events: TaskEventQueue,
    redactor: Redactor,
) -> PayloadSink {
    PayloadSink::new(move |mut payload, sequence| {
        redactor.value(&mut payload.payload);
        redactor.fields(&mut payload.metadata);
        let event = ProviderPayload {
            round,
            provider: provider.clone(),
            api_surface: payload.api_surface,
            kind: payload.kind,
            sequence,
            payload: payload.payload,
            metadata: payload.metadata,
        };
        task_events.push(event.into());
    })
}
