//! The policy gate: rules, mode, protected files and dangers before every call.

use std::sync::{Arc, PoisonError, RwLock};

use robota_core::gate::{Gate, Judgement, Source};
use robota_core::message::ToolUse;
use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};
use robota_core::tool::ToolSpec;
use robota_policy::{List, Policy, RuleError, RuleSource, ToolCall};

/// Judges every call by a policy. What it says is what `robota permissions check` says: both
/// ask [`Policy::judge`].
pub struct PolicyGate {
    policy: RwLock<Policy>,
    paths: Arc<dyn Paths>,
}

impl PolicyGate {
    /// A gate with that policy, on that file system.
    pub fn new(policy: Policy, paths: Arc<dyn Paths>) -> Self {
        Self { policy: RwLock::new(policy), paths }
    }

    /// Judges by another mode from now on.
    pub fn set_mode(&self, mode: Mode) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = policy.clone().with_mode(mode);
    }

    /// Adds a rule for this session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_session_rule(&self, list: List, rule: &str) -> Result<(), RuleError> {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        policy.add(list, &Arc::new(RuleSource::session()), rule, &*self.paths)
    }

    fn judge_now(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let Some(input) = call.input.json() else {
            return Judgement {
                verdict: Verdict::Deny,
                class: Class::Execute,
                reason: "the arguments cannot be read, so they cannot be judged".to_owned(),
                source: Source::Rule,
                rules: Vec::new(),
            };
        };
        let call = ToolCall { tool: &tool.name, input, class: tool.class };
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let judgement = policy.judge(&call, &*self.paths);
        Judgement {
            verdict: judgement.verdict,
            class: judgement.class,
            reason: judgement.why().to_owned(),
            source: match judgement.source {
                robota_policy::Source::Mode => Source::Mode,
                robota_policy::Source::Unproven
                | robota_policy::Source::Danger
                | robota_policy::Source::Protected
                | robota_policy::Source::Critical
                | robota_policy::Source::Input
                | robota_policy::Source::Rule => Source::Rule,
            },
            rules: judgement.suggestion.map(|suggestion| suggestion.rules).unwrap_or_default(),
        }
    }
}

#[async_trait::async_trait]
impl Gate for PolicyGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        self.judge_now(call, tool)
    }
}

#[cfg(test)]
mod tests;
