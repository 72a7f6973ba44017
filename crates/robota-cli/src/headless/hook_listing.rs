//! Lists the hooks of a session for the host: those of settings files, of plugins, of skills that were
//! used, and of the host.

use std::sync::Arc;
use std::time::Duration;

use robota_config::Layer;
use robota_core::hook::{
    HookDefinition, HookEvent, HookGroup, HookKind, HookRunner, HookTimes, MatchedOn,
};
use robota_sdk::hooks::{HookEffect, HookListing};
use robota_sdk::session_end_timeout;
use serde_json::{Value, json};

use super::hooks::{CALLBACK_TIMEOUT, HostHooks};
use super::queries::source;
use super::settings_requests::errors;
use crate::setup::Setup;

/// A hook with its place.
struct Row<'a> {
    event: &'a str,
    matcher: Option<&'a str>,
    hook: &'a HookDefinition,
    /// The name of the source for programs, and for people.
    source: (&'a str, String),
    plugin: Option<&'a str>,
    runs: bool,
    /// Whether the host runs it.
    of_host: bool,
}

/// Returns the list. `runners` run the hooks of the session.
pub(super) fn reply(setup: &Setup, host: &HostHooks, runners: &[Arc<HookRunner>]) -> Value {
    let listing = HookListing::of(&setup.settings, &HookKind::ALL);
    let enabled = !listing.disabled;
    let at_end = session_end_timeout(&setup.environment);
    let mut rows = Vec::new();
    // Both are in the order of the settings.
    let mut effects = listing.hooks.iter();
    for (event, groups) in &setup.settings.hooks {
        for sourced in groups {
            let of_group = of_group(event, &sourced.group);
            // The rows come first in the pair: at the end of a group, `zip` then takes no effect of
            // the next one.
            for (row, listed) in of_group.zip(effects.by_ref()) {
                let runs = matches!(listed.effect, HookEffect::Runs | HookEffect::RunsDetached);
                let name = source(sourced.origin.layer).0;
                let source = (name, sourced.origin.to_string());
                rows.push(Row { source, runs: runs && enabled, ..row }.to_value(at_end));
            }
        }
    }
    for plugin in setup.plugins.active() {
        let name = plugin.manifest.name.as_str();
        for (event, groups) in plugin.hooks().0 {
            for row in groups.iter().flat_map(|group| of_group(event.name(), group)) {
                let source = ("pluginHook", format!("the plugin {name}"));
                rows.push(
                    Row { source, plugin: Some(name), runs: enabled, ..row }.to_value(at_end),
                );
            }
        }
    }
    for owned in runners.iter().flat_map(|runner| runner.owned_hooks()) {
        // Those of plugins are listed with the name of the plugin.
        if !owned.owner.starts_with("the plugin ") {
            let source = ("sessionHook", owned.owner.to_string());
            let row = row(owned.event.name(), owned.matcher.as_deref(), &owned.hook);
            rows.push(Row { source, ..row }.to_value(at_end));
        }
    }
    for (event, group) in host.groups() {
        for row in of_group(event.name(), &group) {
            let source = ("sessionHook", "the host".to_owned());
            rows.push(Row { source, of_host: true, ..row }.to_value(at_end));
        }
    }
    let place = |row: &Value| HookEvent::ALL.iter().position(|event| row["event"] == event.name());
    // A stable sort, so that the hooks of one event keep the order of their sources.
    rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
    let count = |event: &HookEvent| rows.iter().filter(|row| row["event"] == event.name()).count();
    let used = HookEvent::ALL.iter().filter(|event| count(event) > 0).map(|event| {
        let mut entry = describe(*event);
        entry["hookCount"] = count(event).into();
        entry
    });
    let events: Vec<_> = used.collect();
    let mut reply = json!({
        "events": events,
        "hooks": rows,
        "eventCatalog": HookEvent::ALL.map(describe),
        "policy": {
            "disabledByPolicy": false,
            "managedOnly": setup.settings.managed_hooks_only,
            "pluginOnly": false,
            "allDisabled": !enabled,
            "policyHookCount": managed_hooks(setup),
        },
    });
    let errors = errors(setup);
    if !errors.is_empty() {
        reply["errors"] = errors.into();
    }
    reply
}

/// Returns the number of the administrator's hooks.
fn managed_hooks(setup: &Setup) -> usize {
    let groups = setup.settings.hooks.values().flatten();
    let managed = groups.filter(|sourced| sourced.origin.layer == Layer::Managed);
    managed.map(|sourced| sourced.group.hooks.len()).sum()
}

fn of_group<'a>(event: &'a str, group: &'a HookGroup) -> impl Iterator<Item = Row<'a>> {
    group.hooks.iter().map(move |hook| row(event, group.matcher.as_deref(), hook))
}

fn row<'a>(event: &'a str, matcher: Option<&'a str>, hook: &'a HookDefinition) -> Row<'a> {
    let source = ("", String::new());
    Row { event, matcher, hook, source, plugin: None, runs: true, of_host: false }
}

impl Row<'_> {
    /// Returns the row. `session_end` is the time that hooks have at the end of the session.
    fn to_value(&self, session_end: Option<Duration>) -> Value {
        let hook = self.hook;
        let (label, text) = match hook {
            HookDefinition::Command(hook) => {
                let words = std::iter::once(&hook.command).chain(hook.args.iter().flatten());
                ("Command", words.map(String::as_str).collect::<Vec<_>>().join(" "))
            }
            HookDefinition::Http(hook) => ("URL", hook.url.clone()),
            HookDefinition::Prompt(hook) | HookDefinition::Agent(hook) => {
                ("Prompt", hook.prompt.clone())
            }
            HookDefinition::McpTool(hook) => ("Tool", format!("{}/{}", hook.server, hook.tool)),
            HookDefinition::Unusable(hook) => ("Problem", hook.reason.clone()),
        };
        let text = shown(&text);
        let kind = if self.of_host { "callback" } else { hook.kind().unwrap_or("") };
        let status = hook.status_message().map(shown);
        // Hooks of an unknown event never run.
        let event = self.event.parse().unwrap_or(HookEvent::PreToolUse);
        let default = self.of_host.then_some(CALLBACK_TIMEOUT);
        let times = HookTimes { default, session_end };
        let timeout = hook.timeout_or(&times, event);
        let mut row = json!({
            "event": self.event,
            "matcher": shown(self.matcher.unwrap_or_default()),
            "source": self.source.0,
            "sourceLabel": self.source.1,
            "type": kind,
            "displayText": status.as_ref().unwrap_or(&text),
            "commandText": text,
            "contentLabel": label,
            "timeout": timeout.as_secs_f64(),
        });
        let background = hook.is_detached() || hook.wakes_at(event);
        let more = [
            ("pluginName", self.plugin.map(Value::from)),
            ("condition", hook.condition().map(shown).map(Value::from)),
            ("statusMessage", status.map(Value::from)),
            ("runsOnce", hook.once().then_some(Value::Bool(true))),
            ("runsInBackground", background.then_some(Value::Bool(true))),
            ("disabled", (!self.runs).then_some(Value::Bool(true))),
        ];
        for (key, value) in more {
            if let Some(value) = value {
                row[key] = value;
            }
        }
        row
    }
}

/// Returns a text in one line, with control characters as escapes.
fn shown(text: &str) -> String {
    let reveal = |letter: char| match letter.is_control() {
        true => letter.escape_debug().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(reveal).collect()
}

fn describe(event: HookEvent) -> Value {
    let summary = match event {
        HookEvent::PreToolUse => "Before a tool call runs",
        HookEvent::PermissionRequest => "Before the user is asked about a tool call",
        HookEvent::PostToolUse => "After a tool call ran",
        HookEvent::PostToolUseFailure => "After a tool call failed",
        HookEvent::PostToolBatch => "After all tool calls of an answer",
        HookEvent::Notification => "When the user is asked for something",
        HookEvent::Setup => "When the program prepares the project",
        HookEvent::SessionStart => "When a session starts or is resumed",
        HookEvent::SessionEnd => "When a session ends",
        HookEvent::Stop => "Before a turn ends with an answer",
        HookEvent::StopFailure => "When a turn ends with an error",
        HookEvent::PreCompact => "Before the conversation is summarised",
        HookEvent::PostCompact => "After the conversation was summarised",
        HookEvent::UserPromptSubmit => "When the user sends a prompt",
        HookEvent::SubagentStart => "When a subagent starts",
        HookEvent::SubagentStop => "Before a subagent ends",
        HookEvent::WorktreeCreate => "When a worktree is created",
        HookEvent::WorktreeRemove => "When a worktree is removed",
        HookEvent::InstructionsLoaded => "When a file with instructions was loaded",
        HookEvent::Elicitation => "Before the user is asked a question of an MCP server",
        HookEvent::ElicitationResult => "Before an MCP server gets the answer of the user",
        HookEvent::UserPromptExpansion => "Before a command of the user becomes a prompt",
        HookEvent::TaskCreated => "Before an item is added to the to-do list",
        HookEvent::TaskCompleted => "Before an item of the to-do list is marked as completed",
        HookEvent::ConfigChange => "Before settings or skills change",
        HookEvent::PreModelSwitch => "Before the session uses another model",
        HookEvent::PostModelSwitch => "When the session uses another model",
        HookEvent::CwdChanged => "When the working directory of commands changed",
    };
    let supports_matcher = event.matched_on() != MatchedOn::Nothing;
    json!({"name": event.name(), "summary": summary, "supportsMatcher": supports_matcher})
}
