//! The policy gate: rules, mode, protected files and dangers before every call.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use robota_core::gate::{Gate, Judgement, Source};
use robota_core::message::ToolUse;
use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};
use robota_core::tool::ToolSpec;
use robota_policy::{List, Policy, RuleError, RuleSource, ToolCall};

/// Judges every call by a policy. What it says is what `robota permissions check` says: both
/// ask [`Policy::judge`].
pub struct PolicyGate {
    rules: Arc<RwLock<Rules>>,
    paths: Arc<dyn Paths>,
}

/// The policy without and with what somebody said yes to for the session.
struct Rules {
    given: Policy,
    now: Policy,
    remembered: Vec<String>,
}

impl PolicyGate {
    /// A gate with that policy, on that file system.
    pub fn new(policy: Policy, paths: Arc<dyn Paths>) -> Self {
        let rules = Rules { given: policy.clone(), now: policy, remembered: Vec::new() };
        Self { rules: Arc::new(RwLock::new(rules)), paths }
    }

    /// Adds a rule for this session, whoever says so.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_session_rule(&self, list: List, rule: &str) -> Result<(), RuleError> {
        let mut rules = self.write();
        rules.given.add(list, &Arc::new(RuleSource::session()), rule, &*self.paths)?;
        rules.now.add(list, &Arc::new(RuleSource::session()), rule, &*self.paths)
    }

    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn judge(rules: &RwLock<Rules>, call: &ToolCall<'_>, paths: &dyn Paths) -> Judgement {
    let judgement = rules.read().unwrap_or_else(PoisonError::into_inner).now.judge(call, paths);
    Judgement {
        verdict: judgement.verdict,
        class: judgement.class,
        reason: judgement.why().to_owned(),
        source: match judgement.source {
            robota_policy::VerdictSource::Mode => Source::Mode,
            robota_policy::VerdictSource::Unproven
            | robota_policy::VerdictSource::Danger
            | robota_policy::VerdictSource::Protected
            | robota_policy::VerdictSource::Critical
            | robota_policy::VerdictSource::Input
            | robota_policy::VerdictSource::Rule => Source::Rule,
        },
        rules: judgement.suggestion.map(|suggestion| suggestion.rules).unwrap_or_default(),
    }
}

fn denied(reason: &str) -> Judgement {
    Judgement {
        verdict: Verdict::Deny,
        class: Class::Execute,
        reason: reason.to_owned(),
        source: Source::Rule,
        rules: Vec::new(),
    }
}

#[async_trait::async_trait]
impl Gate for PolicyGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let Some(input) = call.input.json().cloned() else {
            return denied("the arguments cannot be read, so they cannot be judged");
        };
        let (rules, paths) = (Arc::clone(&self.rules), Arc::clone(&self.paths));
        let (name, class) = (tool.name.clone(), tool.class);
        // Paths are looked up on disk, which may take long: not on a thread that runs other tasks.
        let judged = tokio::task::spawn_blocking(move || {
            judge(&rules, &ToolCall { tool: &name, input: &input, class }, &*paths)
        });
        judged.await.unwrap_or_else(|_| denied("the policy panicked, so nothing may run"))
    }

    fn remember(&self, rules: &[String]) -> Result<(), String> {
        let mut kept = self.write();
        let mut now = kept.now.clone();
        let source = Arc::new(RuleSource::session());
        for rule in rules {
            now.add(List::Allow, &source, rule, &*self.paths).map_err(|error| error.to_string())?;
        }
        kept.now = now;
        for rule in rules {
            if !kept.remembered.contains(rule) {
                kept.remembered.push(rule.clone());
            }
        }
        Ok(())
    }

    fn remembered(&self) -> Vec<String> {
        self.read().remembered.clone()
    }

    fn forget(&self) {
        let mut rules = self.write();
        rules.now = rules.given.clone();
        rules.remembered.clear();
    }

    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        Some(Arc::new(Self::new(self.read().given.clone(), self.paths.clone())))
    }

    fn set_mode(&self, mode: Mode) {
        let mut rules = self.write();
        rules.given = rules.given.clone().with_mode(mode);
        rules.now = rules.now.clone().with_mode(mode);
    }
}

#[cfg(test)]
mod tests;
