//! The policy gate: judges every call by rules, mode, protected files and dangerous commands.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use robota_core::gate::{Gate, Grant, Judgement, Source};
use robota_core::message::ToolUse;
use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};
use robota_core::tool::ToolSpec;
use robota_policy::{List, Policy, RuleError, RuleSource, ToolCall};

/// Judges every call by a policy. `robota permissions check` gives the same verdicts, because both
/// use [`Policy::judge`].
pub struct PolicyGate {
    rules: Arc<RwLock<Rules>>,
    paths: Arc<dyn Paths>,
}

/// The policy with and without the rules that apply for a while.
struct Rules {
    configured: Policy,
    /// With the rules that the user allowed for this session.
    allowed: Policy,
    /// With the rules of the running turn too.
    effective: Policy,
    remembered: Vec<String>,
    /// The rules of the running turn.
    turn: Vec<(List, String)>,
}

impl Rules {
    /// Changes all three policies, for what has to outlast the session's and the turn's rules.
    fn change(&mut self, change: impl Fn(&mut Policy)) {
        [&mut self.configured, &mut self.allowed, &mut self.effective].into_iter().for_each(change);
    }
}

impl PolicyGate {
    /// Creates a gate with that policy, on that file system.
    pub fn new(policy: Policy, paths: Arc<dyn Paths>) -> Self {
        let rules = Rules {
            configured: policy.clone(),
            allowed: policy.clone(),
            effective: policy,
            remembered: Vec::new(),
            turn: Vec::new(),
        };
        Self { rules: Arc::new(RwLock::new(rules)), paths }
    }

    /// Adds a rule for this session.
    ///
    /// # Errors
    /// If the rule is not valid.
    pub fn add_session_rule(&self, list: List, rule: &str) -> Result<(), RuleError> {
        let mut rules = self.write();
        let source = Arc::new(RuleSource::session());
        // Tried on a copy first: an error must not leave the rule in one policy and not in the
        // others.
        rules.configured.clone().add(list, &source, rule, &*self.paths)?;
        rules.change(|policy| {
            // The line above checked that it is valid.
            let _ = policy.add(list, &source, rule, &*self.paths);
        });
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn judge(rules: &RwLock<Rules>, call: &ToolCall<'_>, paths: &dyn Paths) -> Judgement {
    let judgement =
        rules.read().unwrap_or_else(PoisonError::into_inner).effective.judge(call, paths);
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
            // Only an ask of the mode may be lifted by a hook. Everything else is as strict as a
            // rule.
            | robota_policy::VerdictSource::Rule => Source::Rule,
        },
        grant: if judgement.read_only_proof { Grant::ReadOnly } else { Grant::Full },
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
        grant: Grant::Full,
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
        // Paths are resolved on disk, which may take long, so this runs in a blocking thread.
        let judged = tokio::task::spawn_blocking(move || {
            judge(&rules, &ToolCall { tool: &name, input: &input, class }, &*paths)
        });
        judged.await.unwrap_or_else(|_| denied("the policy panicked, so nothing may run"))
    }

    fn remember(&self, rules: &[String]) -> Result<(), String> {
        let mut rules_guard = self.write();
        let (mut allowed, mut effective) =
            (rules_guard.allowed.clone(), rules_guard.effective.clone());
        let source = Arc::new(RuleSource::session());
        for rule in rules {
            for policy in [&mut allowed, &mut effective] {
                policy
                    .add(List::Allow, &source, rule, &*self.paths)
                    .map_err(|error| error.to_string())?;
            }
        }
        // All rules or none: an approval that is remembered in part would surprise the user.
        (rules_guard.allowed, rules_guard.effective) = (allowed, effective);
        for rule in rules {
            if !rules_guard.remembered.contains(rule) {
                rules_guard.remembered.push(rule.clone());
            }
        }
        Ok(())
    }

    fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        let list = match verdict {
            Verdict::Deny => List::Deny,
            Verdict::Ask => List::Ask,
            Verdict::Allow => return Err("a restriction cannot allow".to_owned()),
        };
        for rule in rules {
            self.add_session_rule(list, rule).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        let mut rules = self.write();
        let source = Arc::new(RuleSource::session());
        let allow = allow.iter().map(|rule| (List::Allow, rule));
        let all = allow.chain(deny.iter().map(|rule| (List::Deny, rule)));
        let mut invalid = Vec::new();
        for (list, rule) in all {
            match rules.effective.add(list, &source, rule, &*self.paths) {
                Ok(()) => rules.turn.push((list, rule.clone())),
                // An invalid rule allows nothing, and must not end the turn that came with it.
                Err(_) => invalid.push(rule.clone()),
            }
        }
        invalid
    }

    fn allowing(&self, rules: &[String]) -> Option<Arc<dyn Gate>> {
        let mut policy = self.read().effective.clone();
        let source = Arc::new(RuleSource::session());
        for rule in rules {
            // An invalid rule allows nothing.
            let _ = policy.add(List::Allow, &source, rule, &*self.paths);
        }
        Some(Arc::new(Self::new(policy, self.paths.clone())))
    }

    fn forget_turn_rules(&self) {
        let mut rules = self.write();
        rules.effective = rules.allowed.clone();
        rules.turn.clear();
    }

    fn remembered(&self) -> Vec<String> {
        self.read().remembered.clone()
    }

    fn forget(&self) {
        let mut rules = self.write();
        rules.allowed = rules.configured.clone();
        // Built from the configured rules: taking single rules out of a policy is not possible.
        let mut effective = rules.configured.clone();
        let source = Arc::new(RuleSource::session());
        for (list, rule) in &rules.turn {
            // Cannot fail: the rule was valid when it was added.
            let _ = effective.add(*list, &source, rule, &*self.paths);
        }
        rules.effective = effective;
        rules.remembered.clear();
    }

    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        // Without what the user allowed in this session: they have not seen what the fork does with
        // it.
        Some(Arc::new(Self::new(self.read().configured.clone(), self.paths.clone())))
    }

    fn set_mode(&self, mode: Mode) {
        self.write().change(|policy| *policy = policy.clone().with_mode(mode));
    }

    fn may_ask(&self) -> bool {
        self.read().effective.mode() != Mode::DontAsk
    }
}

#[cfg(test)]
mod tests;
