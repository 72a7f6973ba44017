//! Prints `system` lines: hooks, permissions, retries, compaction.

use robota_core::event::{DecidedBy, HookFinished, HookStarted, ModelRetry, PermissionDecided};
use robota_core::ids::CallId;
use robota_core::permission::Verdict;
use serde_json::json;

use super::{Projection, error_class};
use crate::headless::line::{
    CompactLine, DecisionMeta, DecisionSource, DecisionText, DeniedLine, HookOutcome,
    HookResponseLine, HookStartedLine, InformationalLine, PromptOutcome, RetryLine,
    SessionStateText, StatusLine, StatusText,
};
use crate::output;

impl Projection {
    pub(super) fn blocked(&mut self, reason: &str) {
        self.record.blocked = Some(reason.to_owned());
        self.writer.print(&InformationalLine {
            kind: Default::default(),
            subtype: Default::default(),
            content: reason,
            level: Default::default(),
            prevent_continuation: true,
            prompt_submit_outcome: PromptOutcome { kind: Default::default(), reason },
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    pub(super) fn retry(&self, data: &ModelRetry) {
        if self.shown.notes {
            output::retry(data);
        }
        self.writer.print(&RetryLine {
            kind: Default::default(),
            subtype: Default::default(),
            attempt: data.attempt,
            max_retries: data.attempt + 1,
            retry_delay_ms: data.delay_ms,
            error_status: None,
            error: error_class(&data.error),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    pub(super) fn hook_started(&mut self, data: &HookStarted) {
        if !self.shown.hooks {
            return;
        }
        let id = self.writer.id().as_str().to_owned();
        self.writer.print(&HookStartedLine {
            kind: Default::default(),
            subtype: Default::default(),
            hook_id: &id,
            hook_name: &self.hook_name(&format!("{:?}", data.point), data.call.as_ref()),
            hook_event: &format!("{:?}", data.point),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
        self.hooks.insert(data.call.clone(), id);
    }

    pub(super) fn hook_finished(&mut self, data: &HookFinished) {
        if !self.shown.hooks {
            return;
        }
        let id = self.hooks.remove(&data.call).unwrap_or_default();
        let output = json!({"decision": data.decision, "reason": data.reason}).to_string();
        let outcome = match data.decision.as_str() {
            "cancelled" => HookOutcome::Cancelled,
            "deny" | "block" => HookOutcome::Error,
            _ => HookOutcome::Success,
        };
        self.writer.print(&HookResponseLine {
            kind: Default::default(),
            subtype: Default::default(),
            hook_id: &id,
            hook_name: &self.hook_name(&format!("{:?}", data.point), data.call.as_ref()),
            hook_event: &format!("{:?}", data.point),
            stdout: output.clone(),
            output,
            stderr: "",
            outcome,
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    fn hook_name(&self, event: &str, call: Option<&CallId>) -> String {
        match call.and_then(|call| self.calls.get(call)) {
            Some(call) => format!("{event}:{}", call.tool_use.name),
            None => event.to_owned(),
        }
    }

    pub(super) fn decided(&mut self, data: &PermissionDecided) {
        if self.shown.host {
            self.writer.state(SessionStateText::Running);
        }
        let source = match data.by {
            DecidedBy::Gate => DecisionSource::Rule,
            DecidedBy::Hook => DecisionSource::Hook,
            DecidedBy::User => DecisionSource::User,
        };
        let decision = match data.verdict {
            Verdict::Allow => DecisionText::Allow,
            Verdict::Ask | Verdict::Deny => DecisionText::Deny,
        };
        let Some(call) = self.calls.get_mut(&data.call) else { return };
        call.decision = Some(DecisionMeta { decision, source, reason_type: source });
        if decision == DecisionText::Allow {
            return;
        }
        self.record.denials.push((call.tool_use.clone(), data.reason.clone()));
        if self.shown.notes {
            output::note(&format!("robota: denied {}: {}", call.tool_use.name, data.reason));
        }
        if data.by == DecidedBy::Gate {
            self.writer.print(&DeniedLine {
                kind: Default::default(),
                subtype: Default::default(),
                tool_name: &call.tool_use.name,
                tool_use_id: call.tool_use.public_id(),
                message: &data.reason,
                session_id: self.writer.session(),
                uuid: self.writer.id().as_str(),
            });
        }
    }

    pub(super) fn compacted(&mut self) {
        if let Some(compact_metadata) = self.compaction.take() {
            self.status(None);
            self.writer.print(&CompactLine {
                kind: Default::default(),
                subtype: Default::default(),
                compact_metadata,
                session_id: self.writer.session(),
                uuid: self.writer.id().as_str(),
            });
        }
    }

    pub(super) fn status(&self, status: Option<StatusText>) {
        self.writer.print(&StatusLine {
            kind: Default::default(),
            subtype: Default::default(),
            status,
            permission_mode: None,
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }
}
