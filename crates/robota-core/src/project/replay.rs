//! The replay boundary events (CORE-20): what a log needs so that a run can be replayed. They
//! repeat content that the journal stores once, so they are computed on request.

use serde_json::{Map, Value, json};

use crate::event::{Envelope, Event, Purpose};
use crate::ids::{CallId, SessionId, TurnId};
use crate::message::Message;
use crate::state::{FoldError, State};

/// Shows a client one step of a replay, made of one or more events of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayEvent {
    /// The name in the replay vocabulary, for example `provider_request`.
    pub name: &'static str,
    /// The data; always with `execution_id` and `conversation_id`.
    pub data: Map<String, Value>,
}

/// Converts the events of a journal to replay events.
#[derive(Debug, Clone, Default)]
pub struct ReplayProjection {
    state: State,
    session: Option<SessionId>,
    round: u32,
    deltas: u64,
    provider: String,
    model: String,
    /// The calls of the current batch.
    batch: Vec<(CallId, Value)>,
    messages: u64,
}

impl ReplayProjection {
    /// Takes the next event; returns the replay events that it results in.
    ///
    /// # Errors
    /// When events are missing or out of order.
    pub fn push(&mut self, envelope: &Envelope) -> Result<Vec<ReplayEvent>, FoldError> {
        let mut out = Vec::new();
        self.before(envelope, &mut out);
        self.state.apply(envelope)?;
        self.after(envelope, &mut out);
        Ok(out)
    }

    fn event(&self, turn: Option<&TurnId>, name: &'static str, data: Value) -> ReplayEvent {
        let mut fields = Map::new();
        let turn = turn.map_or(Value::Null, |turn| turn.as_str().into());
        let session = self.session.as_ref().map_or(Value::Null, |id| id.as_str().into());
        fields.insert("execution_id".to_owned(), turn);
        fields.insert("conversation_id".to_owned(), session);
        if let Value::Object(data) = data {
            fields.extend(data);
        }
        ReplayEvent { name, data: fields }
    }

    /// Adds the replay events that need the state before the event.
    fn before(&mut self, envelope: &Envelope, out: &mut Vec<ReplayEvent>) {
        let turn = envelope.turn.as_ref();
        match &envelope.event {
            Event::SessionCreated(data) => self.session = Some(data.session.clone()),
            Event::TurnStarted(data) => {
                self.provider.clone_from(&data.provider);
                self.model.clone_from(&data.model);
            }
            Event::ModelRequested(data) => {
                self.round = data.round;
                self.deltas = 0;
                self.batch.clear();
                let tools = match data.purpose {
                    Purpose::Answer => json!(self.state.tools.as_ref().map(|tools| &tools.value)),
                    Purpose::SummaryAtLimit | Purpose::SummaryWithoutTools => json!([]),
                };
                let messages: Vec<_> =
                    self.state.view.messages.iter().map(|message| message.for_api()).collect();
                out.push(self.event(
                    turn,
                    "provider_request",
                    json!({
                        "round": data.round,
                        "provider": self.provider,
                        "model": self.model,
                        "messages": messages,
                        "instruction": data.instruction,
                        "tools": tools,
                    }),
                ));
            }
            Event::TextChunk(data) => {
                let data =
                    json!({"round": data.round, "sequence": self.deltas, "delta": data.text});
                out.push(self.event(turn, "provider_stream_raw_delta", data));
                self.deltas += 1;
            }
            Event::ProviderPayload(data) => {
                out.push(self.event(turn, "provider_native_raw_payload", json!(data)));
            }
            _ => {}
        }
    }

    /// Adds the replay events that need the state after the event.
    fn after(&mut self, envelope: &Envelope, out: &mut Vec<ReplayEvent>) {
        let turn = envelope.turn.as_ref();
        match &envelope.event {
            Event::UserMessage(data) => out.push(self.mutation(turn, &data.message)),
            Event::MessageInjected(data) => out.push(self.mutation(turn, &data.message)),
            Event::AssistantMessage(data) => self.assistant(turn, data.round, &data.message, out),
            Event::ToolCalled(data) => {
                self.batch.push((data.tool_use.call.clone(), json!(data)));
            }
            Event::ToolBatchStarted(data) => {
                let batch_id = self.batch_id(turn);
                let names: Vec<_> = self
                    .batch
                    .iter()
                    .filter_map(|(_, call)| call.pointer("/tool_use/name").cloned())
                    .collect();
                out.push(self.event(
                    turn,
                    "tool_batch_started",
                    json!({
                        "round": data.round,
                        "batch_id": batch_id,
                        "mode": if data.parallel { "parallel" } else { "sequential" },
                        "max_concurrency": data.max_concurrency,
                        "request_count": data.calls.len(),
                        "tools": names,
                    }),
                ));
                for (index, (call, called)) in self.batch.iter().enumerate() {
                    let owner_path = json!([
                        {"owner_type": "execution", "owner_id": turn},
                        {"owner_type": "tool", "owner_id": call},
                    ]);
                    out.push(self.event(
                        turn,
                        "tool_execution_request",
                        json!({
                            "round": data.round,
                            "batch_id": batch_id,
                            "index": index,
                            "tool_name": called.pointer("/tool_use/name"),
                            "tool_call_id": called.pointer("/tool_use/id"),
                            "parameters": called.pointer("/tool_use/input"),
                            "owner_path": owner_path,
                        }),
                    ));
                }
            }
            Event::ToolFinished(data) => {
                let index = self.batch.iter().position(|(call, _)| *call == data.call);
                let called = index.map(|at| &self.batch[at].1);
                out.push(self.event(
                    turn,
                    "tool_execution_result",
                    json!({
                        "round": self.round,
                        "batch_id": self.batch_id(turn),
                        "index": index,
                        "tool_name": called.and_then(|called| called.pointer("/tool_use/name")),
                        "tool_call_id": called.and_then(|called| called.pointer("/tool_use/id")),
                        "success": data.outcome.ok,
                        "result": data.outcome.ok.then(|| data.outcome.text()),
                        "error": (!data.outcome.ok).then(|| data.outcome.text()),
                        "metadata": {
                            "error_code": data.outcome.error_code,
                            "duration_ms": data.duration_ms,
                            "facts": data.outcome.metadata,
                        },
                    }),
                ));
            }
            Event::ToolResultAdded(data) => {
                let index = self.batch.iter().position(|(call, _)| *call == data.result.call);
                let message = Message::tool(data.message.clone(), vec![data.result.clone()]);
                out.push(self.event(
                    turn,
                    "tool_message_committed",
                    json!({
                        "round": data.round,
                        "batch_id": self.batch_id(turn),
                        "index": index,
                        "message": message,
                    }),
                ));
                out.push(self.mutation(turn, &message));
            }
            _ => {}
        }
    }

    fn assistant(
        &mut self,
        turn: Option<&TurnId>,
        round: u32,
        message: &Message,
        out: &mut Vec<ReplayEvent>,
    ) {
        let calls = message.tool_uses().count();
        out.push(self.event(
            turn,
            "provider_response_raw",
            json!({
                "round": round,
                "response": message,
                "response_kind": "provider-normalized-message",
            }),
        ));
        out.push(self.event(
            turn,
            "provider_response_normalized",
            json!({"round": round, "response": message, "tool_calls_count": calls}),
        ));
        out.push(self.event(
            turn,
            "assistant_message_committed",
            json!({"round": round, "message": message}),
        ));
        out.push(self.mutation(turn, message));
    }

    fn mutation(&mut self, turn: Option<&TurnId>, message: &Message) -> ReplayEvent {
        let index = self.messages;
        self.messages += 1;
        let data = json!({"mutation": "append", "index": index, "message": message});
        self.event(turn, "history_mutation", data)
    }

    fn batch_id(&self, turn: Option<&TurnId>) -> String {
        format!("{}:{}", turn.map_or("-", TurnId::as_str), self.round)
    }
}
