//! Limits the calls of a tool to those that a list of tools names, such as `Bash(git *)`.

use robota_core::paths::Paths;
use robota_core::permission::{Class, Verdict};

use crate::call::{Family, ToolCall, canonical, shares_rules};
use crate::policy::{Policy, PolicySpec};
use crate::rule::{List, RuleError, RuleSource};
use crate::verdict::{Reason, VerdictSource};
use crate::workspace::Workspace;

/// The calls that a list of tools leaves. `Bash(git *)` leaves the calls of Bash that such an allow rule
/// would cover without a question, and `Bash` all of them. It says nothing about tools that the list does
/// not name.
///
/// ```
/// use robota_core::permission::Class;
/// use robota_policy::{CallLimits, LexicalPaths, ToolCall, Workspace};
/// use serde_json::json;
///
/// let workspace = Workspace::new("/proj/app", "/home/ada");
/// let (limits, errors) = CallLimits::new(["Bash(git *)", "Read"], &workspace, &LexicalPaths);
/// assert!(errors.is_empty());
/// let limits = limits.expect("one entry is limited");
/// let refusal = |command: &str| {
///     let input = json!({ "command": command });
///     let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
///     limits.refusal(&call, &LexicalPaths)
/// };
/// assert_eq!(refusal("git commit -m done"), None);
/// assert!(refusal("git status && rm -r x").is_some());
/// assert!(refusal("ls").is_some());
/// ```
#[derive(Debug, Clone)]
pub struct CallLimits {
    entries: Vec<Entry>,
    workspace: Workspace,
}

#[derive(Debug, Clone)]
struct Entry {
    tool: String,
    text: String,
    /// Whether the entry leaves only some calls.
    is_limited: bool,
}

impl CallLimits {
    /// Reads a list of tools; none if it limits the calls of no tool. An entry that is not a valid rule
    /// leaves no call.
    pub fn new<'a>(
        tools: impl IntoIterator<Item = &'a str>,
        workspace: &Workspace,
        paths: &dyn Paths,
    ) -> (Option<Self>, Vec<RuleError>) {
        let entries: Vec<_> = tools.into_iter().map(Entry::read).collect();
        if !entries.iter().any(|entry| entry.is_limited) {
            return (None, Vec::new());
        }
        let limits = Self { entries, workspace: workspace.clone() };
        let limited: Vec<_> = limits.entries.iter().filter(|entry| entry.is_limited).collect();
        let (_, errors) = limits.policy(List::Allow, &limited, &[], paths);
        (Some(limits), errors)
    }

    /// Returns a policy with these entries in a list, and other allow rules.
    fn policy(
        &self,
        list: List,
        entries: &[&Entry],
        more: &[&str],
        paths: &dyn Paths,
    ) -> (Policy, Vec<RuleError>) {
        let source = || RuleSource::flag("the list of tools");
        let rules = entries.iter().map(|entry| entry.text.clone());
        let spec = PolicySpec::new(self.workspace.clone())
            // Else a command that only reads would need no entry.
            .free_reads(false)
            .rules(list, source(), rules)
            .rules(List::Allow, source(), more.iter().copied());
        Policy::new(&spec, paths)
    }

    /// Returns whether the entries allow every part of a call. What is protected or critical is not
    /// decided here, nor are the files that a command writes.
    fn covers(&self, entries: &[&Entry], call: &ToolCall<'_>, paths: &dyn Paths) -> bool {
        // The mode would allow a call that only reads, whatever the entries name.
        let call = &ToolCall { class: Class::Execute, ..*call };
        let is_shell = Family::of_tool(call.tool) == Some(Family::Shell);
        let files: &[&str] = if is_shell { &["Read", "Edit"] } else { &[] };
        let (allows, _) = self.policy(List::Allow, entries, files, paths);
        let verdict = allows.judge(call, paths);
        let is_uncovered = |source| match source {
            // An option that runs something else, as in `git -c alias.x=!rm x`, makes an allow rule ask.
            VerdictSource::Mode
            | VerdictSource::Unproven
            | VerdictSource::Input
            | VerdictSource::Danger => true,
            VerdictSource::Protected | VerdictSource::Critical | VerdictSource::Rule => false,
        };
        let mut asks = verdict.reasons.iter().filter(|reason| reason.verdict != Verdict::Allow);
        if verdict.verdict != Verdict::Allow && asks.any(|reason| is_uncovered(reason.source)) {
            return false;
        }
        // `Edit` must not make `touch` a command that `Bash(git *)` leaves.
        let (matches, _) = self.policy(List::Deny, entries, &[], paths);
        let names = |reason: &Reason| reason.verdict == Verdict::Deny && reason.rule.is_some();
        !is_shell || {
            let commands = matches.explain(call, paths).commands;
            !commands.is_empty() && commands.iter().all(|it| it.reasons.iter().any(names))
        }
    }

    /// Returns why a call is not one that the list leaves, for the model that made it; none if it is.
    #[must_use]
    pub fn refusal(&self, call: &ToolCall<'_>, paths: &dyn Paths) -> Option<String> {
        let named: Vec<_> = self.entries.iter().filter(|entry| entry.is_about(call.tool)).collect();
        if named.is_empty() || named.iter().any(|entry| !entry.is_limited) {
            return None;
        }
        if self.covers(&named, call, paths) {
            return None;
        }
        let names: Vec<_> = named.iter().map(|entry| entry.text.as_str()).collect();
        Some(format!(
            "this agent may use {} only for calls of which every part matches {}",
            call.tool,
            names.join(" or ")
        ))
    }
}

impl Entry {
    fn read(text: &str) -> Self {
        let text = text.trim();
        let (tool, inside) = text.split_once('(').unwrap_or((text, ""));
        let tool = tool.trim();
        let inside = inside.trim_end().strip_suffix(')').unwrap_or(inside).trim();
        // `Agent(a, b)` names agents, which are chosen where agents are started.
        let names_agents = canonical(tool) == "Agent";
        let is_limited = text.contains('(') && !matches!(inside, "" | "*") && !names_agents;
        Self { tool: tool.to_owned(), text: text.to_owned(), is_limited }
    }

    fn is_about(&self, tool: &str) -> bool {
        // A whole tool is only itself, and a limited one its family: `Write(docs/**)` is about Edit, too.
        lists_tool(&self.tool, tool)
            || canonical(&self.tool) == canonical(tool)
            || self.is_limited && shares_rules(&self.tool, tool)
    }
}

/// Returns whether an entry of a list of tools offers a tool: `Bash`, `Bash(git *)`, `mcp__server__*`, `*`.
///
/// ```
/// use robota_policy::lists_tool;
///
/// assert!(lists_tool("Bash(git *)", "Bash"));
/// assert!(lists_tool("mcp__github", "mcp__github__search"));
/// assert!(!lists_tool("Read", "ReadOutput"));
/// ```
#[must_use]
pub fn lists_tool(entry: &str, tool: &str) -> bool {
    let entry = entry.split('(').next().unwrap_or_default().trim();
    match entry.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        // `mcp__server` names all tools of a server.
        None => {
            let of_server = || tool.strip_prefix(entry).is_some_and(|rest| rest.starts_with("__"));
            entry == tool || (entry.starts_with("mcp__") && of_server())
        }
    }
}
