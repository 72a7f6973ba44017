//! Hooks that apply only to calls that match a permission rule (`"if": "Bash(git *)"`).

use std::sync::Arc;

use robota_core::hook::HookCondition;
use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};
use serde_json::Value;

/// Decides with `robota-policy` whether a rule matches a call. It reads the rule as a deny rule: a
/// hook that guards `git push` must run for it inside any compound command or wrapper.
pub struct RuleCondition {
    workspace: Workspace,
    paths: Arc<dyn Paths>,
}

impl RuleCondition {
    /// Creates it for calls in that workspace, on that file system.
    pub fn new(workspace: Workspace, paths: Arc<dyn Paths>) -> Self {
        Self { workspace, paths }
    }
}

impl HookCondition for RuleCondition {
    fn holds(&self, rule: &str, tool: &str, input: &Value) -> Option<bool> {
        // In bypass mode only a rule denies, and this policy has one rule.
        let spec = PolicySpec::new(self.workspace.clone()).mode(Mode::BypassPermissions).rules(
            List::Deny,
            RuleSource::session(),
            [rule],
        );
        let (policy, errors) = Policy::new(&spec, &*self.paths);
        if !errors.is_empty() {
            return None;
        }
        let call = ToolCall { tool, input, class: Class::Execute };
        Some(policy.judge(&call, &*self.paths).verdict == Verdict::Deny)
    }
}

#[cfg(test)]
mod tests;
