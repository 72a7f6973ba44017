//! Converts journal events to named events with an owner path (CORE-26).

use std::sync::Arc;

use robota_core::driver::Observer;
use robota_core::event::{Envelope, Event, TurnEnd};
use robota_core::task::TaskChange;
use serde_json::Value;

use super::{EventName, EventSink, NamedEvent, OwnerKind, OwnerSegment};

/// Converts the events of one agent. The owner path consists of the agent, the execution (the turn)
/// and the tool (the call) or the background task.
#[derive(Debug, Clone)]
pub struct NamedProjection {
    agent: OwnerSegment,
}

impl NamedProjection {
    /// Creates the projection for the agent with that id.
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: OwnerSegment::new(OwnerKind::Agent, agent) }
    }

    /// Returns an observer that sends the named events of an agent or a session to a sink.
    #[must_use]
    pub fn observer(self, sink: Arc<dyn EventSink>) -> Observer {
        Arc::new(move |envelope| {
            if let Some(event) = self.project(envelope) {
                sink.emit(event);
            }
        })
    }

    /// Returns the named event; `None` for events that have no name here.
    #[must_use]
    pub fn project(&self, envelope: &Envelope) -> Option<NamedEvent> {
        use OwnerKind::{Agent, Execution, Task, Tool, User};

        let none: Vec<(&str, Value)> = Vec::new();
        let (owner, local, last, data) = match &envelope.event {
            Event::SessionCreated(data) => {
                (Agent, "created", None, vec![("session", data.session.as_str().into())])
            }
            Event::InputAccepted(data) => {
                (User, "input", None, vec![("input", data.input.as_str().into())])
            }
            Event::UserMessage(data) => {
                (User, "message", None, vec![("text", data.message.text().into())])
            }
            Event::TurnStarted(data) => (
                Execution,
                "start",
                None,
                vec![
                    ("provider", data.provider.as_str().into()),
                    ("model", data.model.as_str().into()),
                ],
            ),
            Event::TurnFinished(data) => {
                let local = match data.end {
                    // Only failures of a service or of the store are errors; a limit that was set
                    // on purpose ends a turn as planned.
                    TurnEnd::ProviderFailed | TurnEnd::StoreFailed => "error",
                    TurnEnd::Interrupted | TurnEnd::Stopped => "interrupted",
                    TurnEnd::Complete
                    | TurnEnd::RoundLimit
                    | TurnEnd::UnknownTools
                    | TurnEnd::ContextFull
                    | TurnEnd::Blocked => "complete",
                };
                (Execution, local, None, vec![("rounds", data.rounds.into())])
            }
            Event::ModelRequested(data) => {
                (Execution, "round_start", None, vec![("round", data.round.into())])
            }
            Event::ModelResponded(data) => {
                (Execution, "round_complete", None, vec![("round", data.round.into())])
            }
            Event::ModelRetry(data) => (
                Execution,
                "retry",
                None,
                vec![
                    ("error", data.error.message.as_str().into()),
                    ("delay_ms", data.delay_ms.into()),
                ],
            ),
            // Each round has an answer; the last one of a turn precedes `execution.complete`.
            Event::AssistantMessage(data) => {
                (Agent, "completion", None, vec![("text", data.message.text().into())])
            }
            Event::CompactionFinished(_) => (Agent, "compacted", None, none),
            Event::ToolCalled(data) => (
                Tool,
                "call",
                Some((Tool, data.tool_use.call.as_str())),
                vec![("tool", data.tool_use.name.as_str().into())],
            ),
            Event::ToolStarted(data) => {
                (Tool, "execute_start", Some((Tool, data.call.as_str())), none)
            }
            Event::ToolFinished(data) => {
                let local = if data.outcome.ok { "execute_success" } else { "execute_error" };
                let code = data.outcome.error_code.as_deref().map_or(Value::Null, Value::from);
                (Tool, local, Some((Tool, data.call.as_str())), vec![("error_code", code)])
            }
            Event::PermissionAsked(data) => {
                (Tool, "permission_asked", Some((Tool, data.call.as_str())), none)
            }
            Event::PermissionDecided(data) => (
                Tool,
                "permission_decided",
                Some((Tool, data.call.as_str())),
                vec![("reason", data.reason.as_str().into())],
            ),
            Event::TaskChanged(data) => {
                let last = Some((Task, data.task.as_str()));
                match &data.change {
                    TaskChange::Started => (Task, "started", last, none),
                    TaskChange::Finished(end) => {
                        let status = serde_json::to_value(end.status).unwrap_or_default();
                        (Task, "completed", last, vec![("status", status)])
                    }
                    // The other changes are details between these two.
                    _ => return None,
                }
            }
            _ => return None,
        };
        let mut event = NamedEvent::new(EventName::new(owner, local).ok()?, envelope.ts);
        event.owner_path.push(self.agent.clone());
        if let Some(turn) = &envelope.turn {
            event.owner_path.push(OwnerSegment::new(Execution, turn.as_str()));
        }
        if let Some((kind, id)) = last {
            event.owner_path.push(OwnerSegment::new(kind, id));
        }
        Some(data.into_iter().fold(event, |event, (key, value)| event.with(key, value)))
    }
}
