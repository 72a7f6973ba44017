//! Tools by the bundle, with the rules they come with: for agents that are built in code.
//!
//! Each bundle works without a session. What its rules do not allow does not run, or is asked of
//! an approver, if it was given one.

use std::sync::Arc;

use robota_core::approve::{Approver, NoApprover};
use robota_core::permission::Mode;
use robota_core::tool::Tool;
use robota_exec::OsPaths;
use robota_policy::{List, Policy, PolicySpec, RuleError, RuleSource, Workspace};

use crate::ruled::Ruled;
use crate::task::{Task, TaskRunner};
use crate::workplace::Workplace;
use crate::{Bash, BashInput, BashOutput, Edit, Glob, Grep, KillShell, MultiEdit, Read, Write};

/// What a bundle allows, in the patterns of permission rules: `git *`, `src/**`.
#[derive(Clone, Default)]
pub struct BundleRules {
    /// Never, whatever else is said.
    pub block: Vec<String>,
    /// Without asking.
    pub allow: Vec<String>,
    /// Who is asked about the rest; without anybody the rest does not run.
    pub approver: Option<Arc<dyn Approver>>,
}

/// Files below the workplace: Read, Write, Edit, MultiEdit, Glob, Grep. Reading and changing
/// them is free, but for what is blocked; anything outside must be allowed.
///
/// # Errors
/// If a pattern cannot be read.
pub fn fs(place: &Workplace, rules: &BundleRules) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Read::new(place)),
        Arc::new(Write::new(place)),
        Arc::new(Edit::new(place)),
        Arc::new(MultiEdit::new(place)),
        Arc::new(Glob::new(place)),
        Arc::new(Grep::new(place)),
    ];
    ruled(place, rules, tools, Mode::AcceptEdits, &["Read", "Edit"])
}

/// Commands in the workplace: Bash, and what its background commands need. Proven read-only
/// commands are free; the rest must be allowed.
///
/// # Errors
/// If a pattern cannot be read.
pub fn bash(place: &Workplace, rules: &BundleRules) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Bash::new(place)),
        Arc::new(BashOutput::new(place)),
        Arc::new(BashInput::new(place)),
        Arc::new(KillShell::new(place)),
    ];
    ruled(place, rules, tools, Mode::Default, &["Bash"])
}

/// Work for other agents.
#[must_use]
pub fn task(runner: Arc<dyn TaskRunner>) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(Task::new(runner))]
}

fn ruled(
    place: &Workplace,
    rules: &BundleRules,
    tools: Vec<Arc<dyn Tool>>,
    mode: Mode,
    families: &[&str],
) -> Result<Vec<Arc<dyn Tool>>, Vec<RuleError>> {
    let written = |patterns: &[String]| -> Vec<String> {
        let each = |family: &&str| {
            patterns.iter().map(|pattern| format!("{family}({pattern})")).collect::<Vec<_>>()
        };
        families.iter().flat_map(each).collect()
    };
    let spec = PolicySpec::new(Workspace::new(&place.cwd, &place.cwd))
        .mode(mode)
        .rules(List::Deny, RuleSource::flag("block"), written(&rules.block))
        .rules(List::Allow, RuleSource::flag("allow"), written(&rules.allow));
    let (policy, errors) = Policy::new(&spec, &OsPaths);
    if !errors.is_empty() {
        return Err(errors);
    }
    let policy = Arc::new(policy);
    let approver = rules.approver.clone().unwrap_or_else(|| Arc::new(NoApprover));
    let ruled = |tool| -> Arc<dyn Tool> {
        let ruled = Ruled::new(tool, policy.clone(), Arc::new(OsPaths));
        Arc::new(ruled.approver(approver.clone()))
    };
    Ok(tools.into_iter().map(ruled).collect())
}

#[cfg(test)]
mod tests;
