//! Prints `system` lines: permissions, retries, compaction.

use jiff::Timestamp;
use robota_core::event::{DecidedBy, ModelRetry, PermissionDecided};
use robota_core::ids::CallId;
use robota_core::permission::Verdict;
use robota_core::provider::{RateLimit, RateLimits};

use super::{LineWriter, Projection, error_class};
use crate::output;
use robota_stream_json::{
    CompactLine, DecisionMeta, DecisionSource, DecisionText, DeniedLine, InformationalLine,
    PromptOutcome, RateLimitInfo, RateLimitLine, RateLimitStatus, RetryLine, StatusLine,
    StatusText,
};

impl Projection {
    pub(super) fn blocked(&mut self, reason: &str) {
        self.record.blocked = Some(reason.to_owned());
        self.writer.print(&InformationalLine {
            kind: Default::default(),
            subtype: Default::default(),
            content: reason,
            level: Default::default(),
            // A turn that has called the model continues without the input that was to join it.
            prevent_continuation: self.record.requested.is_none(),
            prompt_submit_outcome: Some(PromptOutcome { kind: Default::default(), reason }),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    /// Prints a warning that is about the run, not about a prompt.
    pub(crate) fn warn(writer: &LineWriter, text: &str) {
        writer.print(&InformationalLine {
            kind: Default::default(),
            subtype: Default::default(),
            content: text,
            level: Default::default(),
            prevent_continuation: false,
            prompt_submit_outcome: None,
            session_id: writer.session(),
            uuid: writer.id().as_str(),
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
            // Retries are limited by time, so their number is not known; hosts expect one.
            max_retries: data.attempt + 1,
            retry_delay_ms: data.delay_ms,
            error_status: data.error.http_status,
            error: error_class(&data.error),
            session_id: self.writer.session(),
            uuid: self.writer.id().as_str(),
        });
    }

    /// Prints the state of the rate limits, if it changed.
    pub(super) fn rate_limits(&mut self, now: Timestamp) {
        let Some(limits) = self.watch.rate_limits() else { return };
        let info = rate_limit_info(&limits, now);
        // Nearly every response describes the limits; hosts need a line only when the state
        // changes.
        if info.status != self.rate_limits {
            self.rate_limits = info.status;
            self.writer.print(&RateLimitLine {
                kind: Default::default(),
                rate_limit_info: info,
                session_id: self.writer.session(),
                uuid: self.writer.id().as_str(),
            });
        }
    }

    /// Records that the host denied a call and interrupted the turn: no decision is in the journal.
    pub(crate) fn denied_with_interrupt(&mut self, call: &CallId, reason: &str) {
        if let Some(call) = self.calls.get_mut(call) {
            let (decision, source) = (DecisionText::Deny, DecisionSource::User);
            call.decision = Some(DecisionMeta { decision, source, reason_type: source });
            self.record.denials.push((call.tool_use.clone(), reason.to_owned()));
        }
    }

    pub(super) fn decided(&mut self, data: &PermissionDecided) {
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
        // The end of the run says that the budget is used up: the call itself was not refused.
        let by_budget = || self.meter.exhausted().is_some_and(|text| text == data.reason);
        if decision == DecisionText::Allow || (data.by == DecidedBy::Hook && by_budget()) {
            return;
        }
        self.record.denials.push((call.tool_use.clone(), data.reason.clone()));
        if self.shown.notes {
            output::note(&format!("robota: denied {}: {}", call.tool_use.name, data.reason));
        }
        // A host knows what it denied itself. Without one, an MCP tool decides in place of the user.
        if data.by != DecidedBy::User || !self.shown.host {
            self.writer.print(&DeniedLine {
                kind: Default::default(),
                subtype: Default::default(),
                tool_name: &call.tool_use.name,
                tool_use_id: call.tool_use.public_id(),
                decision_reason_type: Some(source),
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

/// From this used share of a limit on, hosts are warned.
const WARNING_SHARE: f64 = 0.8;

/// Returns the state of the limit that is most used.
fn rate_limit_info(limits: &RateLimits, now: Timestamp) -> RateLimitInfo {
    let used = |limit: &RateLimit| match (limit.remaining?, limit.limit) {
        (0, _) => Some(1.0),
        (remaining, Some(all)) if all > 0 => Some(1.0 - remaining.min(all) as f64 / all as f64),
        _ => None,
    };
    let most = limits
        .0
        .iter()
        .filter_map(|limit| Some((used(limit)?, limit)))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let share = most.map(|(share, _)| share);
    let resets_at =
        most.and_then(|(_, limit)| now.checked_add(limit.reset?).ok()).map(Timestamp::as_second);
    RateLimitInfo {
        status: match share {
            Some(share) if share >= 1.0 => RateLimitStatus::Rejected,
            Some(share) if share >= WARNING_SHARE => RateLimitStatus::AllowedWarning,
            Some(_) | None => RateLimitStatus::Allowed,
        },
        resets_at,
        utilization: share,
    }
}

#[cfg(test)]
mod tests;
