//! Checks the calls of a journal: requested, allowed, started, finished, with a result.

use std::collections::HashMap;

use robota_core::event::{DidRun, Envelope, Event};
use robota_core::ids::CallId;
use robota_core::permission::Verdict;

use super::ValidationReport;

#[derive(Default)]
struct CallProgress {
    name: String,
    allowed: bool,
    started: bool,
    finished: bool,
    has_result: bool,
}

#[derive(Default)]
pub(super) struct Calls {
    calls: HashMap<CallId, CallProgress>,
    /// Calls that have no result yet, in order, and where the model asked for them.
    without_result: Vec<(CallId, String)>,
}

impl Calls {
    pub(super) fn event(&mut self, envelope: &Envelope, report: &mut ValidationReport) {
        let at = envelope.cursor();
        match &envelope.event {
            Event::ToolCalled(data) => {
                report.calls += 1;
                let name = data.tool_use.name.clone();
                let progress = CallProgress { name, ..CallProgress::default() };
                if self.calls.insert(data.tool_use.call.clone(), progress).is_some() {
                    let text = format!("the call {} is requested twice", data.tool_use.call);
                    report.error("CALL_TWICE", at, text);
                }
            }
            Event::AssistantMessage(data) => {
                self.report_unpaired(report);
                for call in data.message.tool_uses() {
                    // Imported sessions have no `tool_called`.
                    let progress = self.calls.entry(call.call.clone()).or_insert_with(|| {
                        report.calls += 1;
                        CallProgress::default()
                    });
                    progress.name.clone_from(&call.name);
                    self.without_result.push((call.call.clone(), at.to_string()));
                }
            }
            Event::UserMessage(_) | Event::ModelRequested(_) | Event::TurnFinished(_) => {
                self.report_unpaired(report);
            }
            Event::PermissionDecided(data) => {
                let allowed = data.verdict == Verdict::Allow;
                if let Some(progress) = self.progress_of(&data.call, "decided", &at, report) {
                    progress.allowed = allowed;
                }
            }
            Event::ToolStarted(data) => {
                let Some(progress) = self.progress_of(&data.call, "started", &at, report) else {
                    return;
                };
                progress.started = true;
                if !progress.allowed {
                    let text = format!("{} was started without permission", progress.name);
                    report.error("STARTED_WITHOUT_PERMISSION", at, text);
                }
            }
            Event::ToolFinished(data) => {
                let Some(progress) = self.progress_of(&data.call, "finished", &at, report) else {
                    return;
                };
                let (again, unstarted) = (progress.finished, !progress.started);
                progress.finished = true;
                let name = progress.name.clone();
                if again {
                    report.error("FINISHED_TWICE", at, format!("{name} finished twice"));
                }
                // A call that did not run has an outcome without a start, which is right.
                if unstarted && data.outcome.ran == DidRun::Yes {
                    let text = format!("{name} ran, but its start was not recorded");
                    report.error("FINISHED_WITHOUT_START", at, text);
                }
            }
            Event::ToolResultAdded(data) => {
                let call = &data.result.call;
                let without_result = self
                    .without_result
                    .iter()
                    .position(|(without_result, _)| without_result == call);
                if let Some(index) = without_result {
                    self.without_result.remove(index);
                    if let Some(progress) = self.calls.get_mut(call) {
                        progress.has_result = true;
                    }
                } else if self.calls.get(call).is_some_and(|progress| progress.has_result) {
                    let text = format!("{} has a second result", data.result.name);
                    report.error("RESULT_TWICE", at, text);
                } else {
                    let text = format!("a result of {} without a call", data.result.name);
                    report.error("RESULT_WITHOUT_CALL", at, text);
                }
            }
            _ => {}
        }
    }

    fn progress_of(
        &mut self,
        call: &CallId,
        what: &str,
        at: &impl ToString,
        report: &mut ValidationReport,
    ) -> Option<&mut CallProgress> {
        let progress = self.calls.get_mut(call);
        if progress.is_none() {
            let text = format!("the call {call} was {what} but never requested");
            report.error("UNKNOWN_CALL", at.to_string(), text);
        }
        progress
    }

    /// Reports the calls without a result, at a point after which none can follow.
    pub(super) fn report_unpaired(&mut self, report: &mut ValidationReport) {
        for (call, at) in self.without_result.drain(..) {
            let name = self.calls.get(&call).map_or("", |progress| progress.name.as_str());
            report.error("UNPAIRED_TOOL_USE", at, format!("{name} ({call}) has no result"));
        }
    }
}
