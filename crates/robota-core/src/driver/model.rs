//! One model call: connecting, streaming, falling silent.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{DriveConfig, Ports};
use crate::error::ErrorKind;
use crate::event::{Event, ProviderPayload, Purpose};
use crate::message::Message;
use crate::provider::{
    Delta, DeltaStream, ModelRequest, PayloadTap, ProviderError, check_native_web,
};
use crate::redact::Redactor;
use crate::state::State;
use crate::turn::{Input, ModelCall};

/// Text that has arrived is told in pieces of at most this size.
const CHUNK: usize = 4 * 1024;
/// At most this many pieces are taken from a stream before anything else is looked at.
const BATCH: usize = 1024;
/// Words that come faster than this are told together. The first are told at once, so that a
/// slow stream pays no delay.
const WINDOW: Duration = Duration::from_millis(10);

type Item = Option<Result<Delta, ProviderError>>;

/// A model call in flight.
pub(super) struct ModelRun {
    stage: Stage,
    idle_timeout: Duration,
    deadline: Instant,
    /// Words that have arrived and are not told yet, and how many bytes they are.
    held: VecDeque<Item>,
    held_bytes: usize,
    /// When words were last told.
    told: Option<Instant>,
}

enum Stage {
    Connecting(BoxFuture<'static, Result<DeltaStream, ProviderError>>),
    Streaming(DeltaStream),
}

impl ModelRun {
    pub(super) fn start(
        ports: &Ports,
        config: &DriveConfig,
        state: &State,
        call: ModelCall,
        side: mpsc::Sender<Event>,
    ) -> Self {
        let request = request(ports, config, state, call);
        let provider = ports.provider.clone();
        let round = state.turn.as_ref().map_or(0, |turn| turn.round);
        let tap = if config.record_payloads {
            tap(round, provider.name().to_owned(), side, config.redactor.clone())
        } else {
            PayloadTap::none()
        };
        let connecting = async move {
            check_native_web(&provider.capabilities(), request.native_web)?;
            provider.stream(request, tap).await
        };
        Self {
            stage: Stage::Connecting(connecting.boxed()),
            idle_timeout: config.idle_timeout,
            deadline: Instant::now() + config.idle_timeout,
            held: VecDeque::new(),
            held_bytes: 0,
            told: None,
        }
    }

    /// The next thing the call says. Never, while there is no call. More that has already
    /// arrived goes to `more`. Cancel safe: what was not returned is still held.
    pub(super) async fn next(run: &mut Option<Self>, more: &mut VecDeque<Input>) -> Input {
        let Some(this) = run else { return std::future::pending().await };
        if this.held.is_empty() {
            let item = match tokio::time::timeout_at(this.deadline, this.item()).await {
                Ok(item) => item,
                Err(_elapsed) => Some(Err(ProviderError::idle(this.idle_timeout))),
            };
            this.hold(item);
        }
        this.hold_arrived();
        let due = this.told.map(|told| told + WINDOW);
        while this.may_wait()
            && let Some(due) = due
            && let Ok(item) = tokio::time::timeout_at(due, this.item()).await
        {
            this.hold(item);
            this.hold_arrived();
        }
        this.told = Some(Instant::now());
        let mut inputs = this.take_held();
        if this.ended(&inputs) {
            *run = None;
        }
        let first = inputs.pop_front();
        more.extend(inputs);
        first.unwrap_or(Input::Delta(Delta::Activity))
    }

    /// What has arrived and is not told yet, for somebody who is about to end the call.
    pub(super) fn take_held(&mut self) -> VecDeque<Input> {
        self.held_bytes = 0;
        coalesce(std::mem::take(&mut self.held))
    }

    fn ended(&self, inputs: &VecDeque<Input>) -> bool {
        matches!(inputs.back(), Some(Input::Delta(Delta::End(_)) | Input::ModelFailed(_)))
    }

    fn hold(&mut self, item: Item) {
        self.deadline = Instant::now() + self.idle_timeout;
        self.held_bytes += match &item {
            Some(Ok(Delta::Text(text) | Delta::Thinking(text))) => text.len(),
            _ => 0,
        };
        self.held.push_back(item);
    }

    fn hold_arrived(&mut self) {
        while self.held.len() < BATCH
            && self.held.back().is_some_and(goes_on)
            && let Some(item) = self.item().now_or_never()
        {
            self.hold(item);
        }
    }

    /// Whether all that is held are words, and few: those can wait for more of them.
    fn may_wait(&self) -> bool {
        self.held.len() < BATCH
            && self.held_bytes < CHUNK
            && self.held.iter().all(|item| {
                matches!(item, Some(Ok(Delta::Text(_) | Delta::Thinking(_) | Delta::Activity)))
            })
    }

    /// Cancel safe: what was not returned is still in the stream.
    async fn item(&mut self) -> Item {
        loop {
            match &mut self.stage {
                Stage::Connecting(connecting) => {
                    match AssertUnwindSafe(connecting).catch_unwind().await {
                        Ok(Ok(stream)) => self.stage = Stage::Streaming(stream),
                        Ok(Err(error)) => return Some(Err(error)),
                        Err(_panic) => return Some(Err(panicked())),
                    }
                }
                Stage::Streaming(stream) => {
                    return AssertUnwindSafe(stream.next())
                        .catch_unwind()
                        .await
                        .unwrap_or_else(|_panic| Some(Err(panicked())));
                }
            }
        }
    }
}

fn panicked() -> ProviderError {
    ProviderError::new(ErrorKind::Plugin, "the provider panicked")
        .with_hint("this is a bug of the provider's adapter; please report it")
}

/// Whether anything can follow this item.
fn goes_on(item: &Item) -> bool {
    matches!(item, Some(Ok(delta)) if !matches!(delta, Delta::End(_)))
}

/// Joins neighbouring text into one piece, and turns everything into inputs.
fn coalesce(items: VecDeque<Item>) -> VecDeque<Input> {
    let mut inputs = VecDeque::new();
    for item in items {
        match item {
            Some(Ok(Delta::Text(text))) => match inputs.back_mut() {
                Some(Input::Delta(Delta::Text(last))) if last.len() + text.len() <= CHUNK => {
                    last.push_str(&text);
                }
                _ => inputs.push_back(Input::Delta(Delta::Text(text))),
            },
            Some(Ok(Delta::Thinking(text))) => match inputs.back_mut() {
                Some(Input::Delta(Delta::Thinking(last))) if last.len() + text.len() <= CHUNK => {
                    last.push_str(&text);
                }
                _ => inputs.push_back(Input::Delta(Delta::Thinking(text))),
            },
            Some(Ok(delta)) => inputs.push_back(Input::Delta(delta)),
            Some(Err(error)) => inputs.push_back(Input::ModelFailed(error)),
            None => inputs.push_back(Input::ModelFailed(ProviderError::truncated())),
        }
    }
    inputs
}

fn request(ports: &Ports, config: &DriveConfig, state: &State, call: ModelCall) -> ModelRequest {
    ModelRequest {
        model: config.turn.model.clone(),
        system: config.system.clone(),
        messages: state.view.messages.clone(),
        instruction: call.instruction.map(|text| Message::user(&*ports.ids, text)),
        tools: match call.purpose {
            Purpose::Answer => ports.tools.specs(),
            Purpose::SummaryAtLimit | Purpose::SummaryWithoutTools => Arc::from([]),
        },
        max_output_tokens: Some(config.turn.max_output),
        temperature: config.temperature,
        native_web: config.native_web,
        options: config.options.clone(),
    }
}

fn tap(round: u32, provider: String, side: mpsc::Sender<Event>, redactor: Redactor) -> PayloadTap {
    PayloadTap::new(move |mut payload, sequence| {
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
        if side.try_send(event.into()).is_err() {
            tracing::warn!(sequence, "a provider payload was not journaled: too many at once");
        }
    })
}
