//! Bundles of tools with permission rules, for agents that are built in code.
//!
//! A bundle works without a session. A call that its rules do not allow is passed to the approver;
//! without an approver it is denied.

use std::sync::Arc;

use robota_core::approve::{Approver, NoApprover};
use robota_core::permission::Mode;
use robota_core::tool::Tool;
use robota_exec::OsPaths;
use robota_policy::{List, Policy, PolicySpec, RuleError, RuleSource, Workspace};

use crate::agent::{AgentRunner, AgentTool};
use crate::policy_checked_tool::PolicyCheckedTool;
use crate::tool_workspace::ToolWorkspace;
use crate::{Bash, BashInput, BashOutput, Edit, Glob, Grep, KillShell, MultiEdit, Read, Write};

/// Holds the rules of a bundle, as patterns of permission rules: `git *`, `src/**`.
#[derive(Clone, Default)]
pub struct BundleRules {
    /// Calls that are always denied, also if the approver would allow them.
    pub block: Vec<String>,
    /// Calls that are allowed without a question.
    pub allow: Vec<String>,
    /// Decides about all other calls; without it they are denied.
    pub approver: Option<Arc<dyn Approver>>,
}

/// Creates the file tools: Read, Write, Edit, MultiEdit, Glob, Grep. Reading and changing files in
/// the workspace is allowed, except for blocked patterns. Other files need an allow pattern.
///
/// # Errors
/// If a pattern is invalid.
pub fn fs(
    workspace: &ToolWorkspace,
    rules: &BundleRules,
) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Read::new(workspace)),
        Arc::new(Write::new(workspace)),
        Arc::new(Edit::new(workspace)),
        Arc::new(MultiEdit::new(workspace)),
        Arc::new(Glob::new(workspace)),
        Arc::new(Grep::new(workspace)),
    ];
    // `Edit` rules cover Write and MultiEdit too, and `Read` rules cover Glob and Grep.
    with_rules(workspace, rules, tools, Mode::AcceptEdits, &["Read", "Edit"])
}

/// Creates the command tools: Bash, BashOutput, BashInput, KillShell. Commands that are proven to
/// be read-only are allowed; others need an allow pattern.
///
/// # Errors
/// If a pattern is invalid.
pub fn bash(
    workspace: &ToolWorkspace,
    rules: &BundleRules,
) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Bash::new(workspace)),
        Arc::new(BashOutput::new(workspace)),
        Arc::new(BashInput::new(workspace)),
        Arc::new(KillShell::new(workspace)),
    ];
    with_rules(workspace, rules, tools, Mode::Default, &["Bash"])
}

/// Creates the Agent tool, which gives tasks to other agents.
#[must_use]
pub fn task(runner: Arc<dyn AgentRunner>) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(AgentTool::new(runner))]
}

fn with_rules(
    workspace: &ToolWorkspace,
    rules: &BundleRules,
    tools: Vec<Arc<dyn Tool>>,
    mode: Mode,
    families: &[&str],
) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let rule_texts = |patterns: &[String]| -> Vec<String> {
        let each = |family: &&str| {
            patterns.iter().map(|pattern| format!("{family}({pattern})")).collect::<Vec<_>>()
        };
        families.iter().flat_map(each).collect()
    };
    let spec = PolicySpec::new(Workspace::new(&workspace.cwd, &workspace.cwd))
        .mode(mode)
        .rules(List::Deny, RuleSource::flag("block"), rule_texts(&rules.block))
        .rules(List::Allow, RuleSource::flag("allow"), rule_texts(&rules.allow));
    let (policy, errors) = Policy::new(&spec, &OsPaths);
    if !errors.is_empty() {
        return Err(errors);
    }
    let policy = Arc::new(policy);
    let approver = rules.approver.clone().unwrap_or_else(|| Arc::new(NoApprover));
    let checked = |tool| -> Arc<dyn Tool> {
        let checked = PolicyCheckedTool::new(tool, policy.clone(), Arc::new(OsPaths));
        Arc::new(checked.approver(approver.clone()))
    };
    Ok(tools.into_iter().map(checked).collect())
}

#[cfg(test)]
mod tests;
