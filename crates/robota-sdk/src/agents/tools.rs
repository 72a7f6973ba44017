//! The tools of an agent: those of its parent without the denied ones, then only the allowed ones, and
//! never Agent. A denied tool takes with it the tools that share its rules, as a deny rule does.

use std::sync::Arc;

use robota_config::agents::AgentDefinition;
use robota_core::tool::Tool;
use robota_mcp::client::TOOL_SEARCH;
use robota_policy::{lists_tool, name_denies};
use robota_session::PolicyGate;
use serde::{Deserialize, Serialize};

use crate::notice::Notice;

/// The names of the tool that starts agents. Agents do not start agents.
const AGENT: [&str; 2] = ["Agent", "Task"];

/// Which tools a definition leaves, by their names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ToolLimits {
    /// The only tools; none for all.
    only: Option<Vec<String>>,
    denied: Vec<String>,
    /// Entries such as `Bash(git *)`, which leave some calls of a tool, and the tools beside them.
    #[serde(default)]
    calls: Vec<String>,
}

impl ToolLimits {
    pub(crate) fn of(definition: &AgentDefinition) -> Self {
        Self {
            only: definition.tools.clone(),
            denied: definition.disallowed_tools.clone(),
            calls: definition.tools.clone().unwrap_or_default(),
        }
    }

    /// Leaves only the calls that these entries name of their tools.
    pub(crate) fn with_calls(self, calls: Vec<String>) -> Self {
        Self { calls, ..self }
    }

    /// Returns the entries that leave some calls, and leaves all calls.
    pub(crate) fn take_calls(&mut self) -> Vec<String> {
        std::mem::take(&mut self.calls)
    }

    /// Makes a gate deny the calls that are not left. An invalid entry leaves none, and is reported.
    pub(crate) fn limit_calls(&self, gate: &mut PolicyGate, on_notice: &dyn Fn(Notice)) {
        for error in gate.limit_calls(self.calls.iter().map(String::as_str)) {
            let text = "this entry of the list of tools is not valid, so it leaves no calls";
            on_notice(Notice::Error(format!("{text}: {error}")));
        }
    }

    /// Returns whether the definition takes the tool away.
    pub(crate) fn denies(&self, name: &str) -> bool {
        self.denied.iter().any(|entry| {
            // A denied argument does not deny the tool; the gate denies the call.
            !entry.contains('(') && (lists_tool(entry, name) || name_denies(entry.trim(), name))
        })
    }

    /// Returns whether the definition leaves the tool.
    pub(crate) fn allows(&self, name: &str) -> bool {
        !self.denies(name) && is_listed(self.only.as_deref(), name)
    }

    /// Returns whether the lists let the conversation start an agent. `Agent(a, b)` among the tools
    /// means only these agents.
    pub(crate) fn may_start(&self, agent: &str) -> bool {
        let of_definition =
            self.only.as_ref().is_none_or(|only| any_starts(agents_of(only), agent));
        // A list of the caller without the tool does not offer it, so it says nothing about agents.
        let mut of_caller = agents_of(&self.calls).peekable();
        of_definition && (of_caller.peek().is_none() || any_starts(of_caller, agent))
    }

    /// Returns the calls that the definition denies of tools that it leaves.
    pub(crate) fn denied_calls(&self) -> impl Iterator<Item = &String> {
        self.denied.iter().filter(|entry| entry.contains('('))
    }

    /// Returns whether the definition takes nothing away.
    pub(crate) fn allows_all(&self) -> bool {
        self.only.is_none() && self.denied.is_empty()
    }
}

/// Returns the entries of a list that name the tool which starts agents.
fn agents_of(list: &[String]) -> impl Iterator<Item = &String> {
    list.iter().filter(|entry| AGENT.iter().any(|tool| lists_tool(entry, tool)))
}

/// Returns whether one of these entries lets the conversation start an agent.
fn any_starts<'a>(mut entries: impl Iterator<Item = &'a String>, agent: &str) -> bool {
    entries.any(|entry| match entry.split_once('(') {
        None => true,
        Some((_, listed)) => {
            let listed = listed.trim_end().strip_suffix(')').unwrap_or(listed);
            listed.split(',').any(|name| matches!(name.trim(), "" | "*") || name.trim() == agent)
        }
    })
}

/// Returns whether a list of tools has a tool. Without a list every tool counts.
fn is_listed(list: Option<&[String]>, name: &str) -> bool {
    // The search finds only the listed tools of servers, so it needs no entry of its own.
    let finds = |entry: &String| name == TOOL_SEARCH && entry.trim().starts_with("mcp__");
    list.is_none_or(|list| list.iter().any(|entry| lists_tool(entry, name) || finds(entry)))
}

/// Removes the tools that an agent does not have. `only` are further limits of a skill.
pub(crate) fn filter(
    tools: &mut Vec<Arc<dyn Tool>>,
    definition: &AgentDefinition,
    only: Option<&[String]>,
) {
    let limits = ToolLimits::of(definition);
    tools.retain(|tool| has(&limits, only, &tool.spec().name));
}

/// Returns whether an agent with these limits has a tool. `only` are further limits of a skill.
pub(super) fn has(limits: &ToolLimits, only: Option<&[String]>, name: &str) -> bool {
    limits.allows(name) && is_listed(only, name) && !AGENT.contains(&name)
}

/// Removes the tools of which an agent may not make every call, where no gate denies single calls.
pub(crate) fn remove_partly_denied(tools: &mut Vec<Arc<dyn Tool>>, definition: &AgentDefinition) {
    let denied = denied_calls(definition);
    let listed = definition.tools.as_deref().unwrap_or_default();
    // `Agent(a, b)` chooses agents, not calls.
    let limited =
        |entry: &&String| entry.contains('(') && !AGENT.iter().any(|it| lists_tool(entry, it));
    let is_limited = |name: &str| {
        let mut own = listed.iter().filter(|entry| lists_tool(entry, name)).peekable();
        own.peek().is_some() && own.all(|entry| limited(&entry))
    };
    tools.retain(|tool| {
        let name = tool.spec().name.as_str();
        !is_limited(name)
            && !denied.iter().any(|entry| {
                let denied = entry.split('(').next().unwrap_or_default().trim();
                // `Write(docs/**)` also denies calls of the tools that share the rules of Write.
                lists_tool(entry, name) || name_denies(denied, name)
            })
    });
}

/// Returns the denied calls of tools that the agent has: `Bash(git push *)`.
pub(super) fn denied_calls(definition: &AgentDefinition) -> Vec<String> {
    definition.disallowed_tools.iter().filter(|entry| entry.contains('(')).cloned().collect()
}
