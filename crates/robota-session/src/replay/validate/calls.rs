//! Follows the calls of a journal: asked for, allowed, started, finished, told.

use std::collections::HashMap;

use robota_core::event::{DidRun, Envelope, Event};
use robota_core::ids::CallId;
use robota_core::permission::Verdict;

use super::Report;

/// How far a call got.
#[derive(Default)]
struct Seen {
    name: String,
    allowed: bool,
    started: bool,
    finished: bool,
    told: bool,
}

/// The calls of a journal.
#[derive(Default)]
pub(super) struct Calls {
    seen: HashMap<CallId, Seen>,
    /// Calls of the conversation whose results are owed, in order, and where they were asked.
    owed: Vec<(CallId, String)>,
}

impl Calls {
    pub(super) fn event(&mut self, envelope: &Envelope, report: &mut Report) {
        let at = envelope.cursor();
        match &envelope.event {
            Event::ToolCalled(data) => {
                report.calls += 1;
                let name = data.tool_use.name.clone();
                let seen = Seen { name, ..Seen::default() };
                if self.seen.insert(data.tool_use.call.clone(), seen).is_some() {
                    let text = format!("the call {} is asked for twice", data.tool_use.call);
                    report.error("CALL_TWICE", at, text);
                }
            }
            Event::AssistantMessage(data) => {
                self.settle(report);
                for call in data.message.tool_uses() {
                    let seen = self.seen.entry(call.call.clone()).or_insert_with(|| {
                        report.calls += 1;
                        Seen::default()
                    });
                    seen.name.clone_from(&call.name);
                    self.owed.push((call.call.clone(), at.to_string()));
                }
            }
            Event::UserMessage(_) | Event::ModelRequested(_) | Event::TurnFinished(_) => {
                self.settle(report);
            }
            Event::PermissionDecided(data) => {
                let allowed = data.verdict == Verdict::Allow;
                if let Some(seen) = self.known(&data.call, "decided about", &at, report) {
                    seen.allowed = allowed;
                }
            }
            Event::ToolStarted(data) => {
                let Some(seen) = self.known(&data.call, "started", &at, report) else { return };
                seen.started = true;
                if !seen.allowed {
                    let text = format!("{} was started and nobody had allowed it", seen.name);
                    report.error("STARTED_WITHOUT_PERMISSION", at, text);
                }
            }
            Event::ToolFinished(data) => {
                let Some(seen) = self.known(&data.call, "finished", &at, report) else { return };
                let (again, unstarted) = (seen.finished, !seen.started);
                seen.finished = true;
                let name = seen.name.clone();
                if again {
                    report.error("FINISHED_TWICE", at, format!("{name} finished twice"));
                }
                if unstarted && data.outcome.ran == DidRun::Yes {
                    let text = format!("{name} ran, and its start was not written down");
                    report.error("FINISHED_WITHOUT_START", at, text);
                }
            }
            Event::ToolResultAdded(data) => {
                let call = &data.result.call;
                let owed = self.owed.iter().position(|(owed, _)| owed == call);
                if let Some(index) = owed {
                    self.owed.remove(index);
                    if let Some(seen) = self.seen.get_mut(call) {
                        seen.told = true;
                    }
                } else if self.seen.get(call).is_some_and(|seen| seen.told) {
                    let text = format!("{} has a second result", data.result.name);
                    report.error("RESULT_TWICE", at, text);
                } else {
                    let text = format!("a result of {} that nothing asks for", data.result.name);
                    report.error("RESULT_WITHOUT_CALL", at, text);
                }
            }
            _ => {}
        }
    }

    fn known(
        &mut self,
        call: &CallId,
        what: &str,
        at: &impl ToString,
        report: &mut Report,
    ) -> Option<&mut Seen> {
        let seen = self.seen.get_mut(call);
        if seen.is_none() {
            let text = format!("the call {call} is {what} and was never asked for");
            report.error("UNKNOWN_CALL", at.to_string(), text);
        }
        seen
    }

    /// No result can come any more.
    pub(super) fn settle(&mut self, report: &mut Report) {
        for (call, at) in self.owed.drain(..) {
            let name = self.seen.get(&call).map_or("", |seen| seen.name.as_str());
            report.error("UNPAIRED_TOOL_USE", at, format!("{name} ({call}) has no result"));
        }
    }
}
