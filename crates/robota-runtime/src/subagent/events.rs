//! Turns the events of an agent's session into progress of its task.

use std::collections::HashMap;
use std::sync::Arc;

use robota_core::event::{Envelope, Event};
use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::project::ModelCalls;
use robota_core::task::{TaskQuestion, TaskUsage};
use robota_core::usage::Usage;
use serde_json::Value;

use crate::task::TaskReporter;

/// The most characters of the argument that an action shows.
const MAX_ARGUMENT: usize = 120;

/// Follows the session of an agent.
#[derive(Default)]
pub(super) struct AgentProgress {
    model_calls: ModelCalls,
    calls: HashMap<CallId, ToolUse>,
    asked: Vec<CallId>,
    /// Whether the log ends within a line.
    in_line: bool,
    pub(super) usage: Vec<TaskUsage>,
    /// How many turns have started.
    pub(super) turns: u64,
}

impl AgentProgress {
    /// Takes an event of the agent's session and reports what it means for the task.
    pub(super) fn take(&mut self, envelope: &Arc<Envelope>, reporter: &TaskReporter) {
        if let Event::TurnStarted(_)
        | Event::UserMessage(_)
        | Event::ModelResponded(_)
        | Event::AssistantMessage(_)
        | Event::ToolResultAdded(_) = &envelope.event
        {
            reporter.agent_event(envelope.clone());
        }
        if let Some(call) = self.model_calls.push(&envelope.event) {
            self.count(&call.model, call.usage, reporter);
        }
        match &envelope.event {
            Event::TurnStarted(_) => self.turns += 1,
            Event::TextChunk(data) => {
                self.in_line = !data.text.ends_with('\n');
                reporter.text(&data.text);
            }
            Event::ThinkingChunk(_)
            | Event::ToolInputChunk(_)
            | Event::ModelRequested(_)
            | Event::ModelRetry(_)
            | Event::ToolOutput(_) => reporter.alive(),
            Event::StreamReset(_) if self.in_line => {
                reporter.text("\n[the model begins this answer again]\n");
                self.in_line = false;
            }
            Event::ToolCalled(data) => {
                self.calls.insert(data.tool_use.call.clone(), data.tool_use.clone());
            }
            Event::ToolStarted(data) => {
                if let Some(call) = self.calls.get(&data.call) {
                    let action = action(call);
                    let line = if self.in_line { "\n" } else { "" };
                    reporter.text(&format!("{line}[{action}]\n"));
                    self.in_line = false;
                    reporter.tool_started(action);
                }
            }
            // A call that was denied never started.
            Event::ToolFinished(data) if data.class.is_some() => {
                let outcome = &data.outcome;
                let error = (!outcome.ok).then(|| first_line(&outcome.text()));
                reporter.tool_ended(error);
            }
            Event::PermissionAsked(data) => {
                let call = self.calls.get(&data.call);
                self.asked.push(data.call.clone());
                reporter.asked(TaskQuestion {
                    call: data.call.clone(),
                    tool: call.map(|call| call.name.clone()).unwrap_or_default(),
                    input: call.and_then(|call| call.input.json().cloned()).unwrap_or_default(),
                    reason: data.reason.clone(),
                });
            }
            Event::PermissionDecided(data) if self.asked.contains(&data.call) => {
                self.asked.retain(|call| *call != data.call);
                reporter.decided(data.call.clone());
            }
            _ => {}
        }
    }

    fn count(&mut self, model: &str, usage: Option<Usage>, reporter: &TaskReporter) {
        let usage = usage.unwrap_or_default();
        match self.usage.iter_mut().find(|counted| counted.model == model) {
            Some(counted) => {
                counted.usage += usage;
                counted.calls += 1;
            }
            None => self.usage.push(TaskUsage { model: model.to_owned(), usage, calls: 1 }),
        }
        reporter.used(self.usage.clone());
    }
}

/// Returns a call as people read it: the tool and its first argument.
#[must_use]
pub fn action(call: &ToolUse) -> String {
    let first = call.input.json().and_then(Value::as_object).and_then(|input| {
        let known = ["command", "file_path", "pattern", "url", "path", "query", "prompt"];
        let named = known.iter().find_map(|key| input.get(*key)?.as_str());
        named.or_else(|| input.values().find_map(Value::as_str))
    });
    match first {
        Some(argument) => {
            let argument: String = first_line(argument).chars().take(MAX_ARGUMENT).collect();
            format!("{} {argument}", call.name)
        }
        None => call.name.clone(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
