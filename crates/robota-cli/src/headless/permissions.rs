//! Asks the host about calls that need approval (`can_use_tool`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::approve::{Answer, Approver, Question, Scope};
use robota_core::ids::CallId;
use robota_core::message::ToolInput;
use robota_core::permission::{Class, Mode};
use robota_tools::{QuestionHandler, UserQuestion};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use super::host::Host;
use super::mode::RunMode;
use super::permission_updates::{self, PermissionChange, UpdateInput};
use super::saved_rules::SavedRules;
use robota_stream_json::{HostRequest, PermissionUpdate, RuleValue};

/// What an answer of the host asks for besides the decision about a call.
#[derive(Debug)]
pub(crate) enum HostCommand {
    /// Interrupt the turn that runs.
    Interrupt {
        /// The reason.
        note: String,
        /// Used or dropped when the turn has ended.
        ended: oneshot::Sender<()>,
    },
    /// Change the permissions.
    Change(PermissionChange),
}

/// Asks the host about calls.
pub(crate) struct HostApprover {
    host: Arc<Host>,
    limit: Duration,
    commands: mpsc::UnboundedSender<HostCommand>,
    announced: Announced,
    /// Saves the rules of approvals.
    saved: Arc<SavedRules>,
    mode: Mutex<RunMode>,
    /// The folders of the workspace.
    workspace: Vec<PathBuf>,
}

/// The questions whose call the host has seen. A request about a call comes after the line with
/// the call, although the session asks while that line may still wait to be printed.
#[derive(Default)]
struct Announced {
    calls: Mutex<HashSet<CallId>>,
    changed: Notify,
}

impl HostApprover {
    /// Creates an approver that waits at most `limit` for an answer.
    pub(crate) fn new(
        host: Arc<Host>,
        limit: Duration,
        commands: mpsc::UnboundedSender<HostCommand>,
        saved: Arc<SavedRules>,
        mode: RunMode,
    ) -> Self {
        let (announced, mode) = (Announced::default(), Mutex::new(mode));
        let workspace = saved.workspace();
        Self { host, limit, commands, announced, saved, mode, workspace }
    }

    /// Takes the new permission mode.
    pub(crate) fn set_mode(&self, mode: RunMode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    fn mode(&self) -> RunMode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that everything before the question about this call was printed.
    pub(crate) fn announce_printed(&self, call: CallId) {
        self.announced.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
        self.announced.changed.notify_waiters();
    }

    async fn wait_until_printed(&self, call: &CallId) {
        loop {
            let changed = self.announced.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.announced.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(call) {
                return;
            }
            changed.await;
        }
    }
}

#[async_trait::async_trait]
impl Approver for HostApprover {
    async fn asks_user(&self, question: &Question) -> bool {
        // The calls of agents are not printed.
        if question.agent.is_none() {
            self.wait_until_printed(&question.call.call).await;
        }
        self.mode() != RunMode::DontAsk
    }

    async fn ask(&self, question: Question) -> Answer {
        if self.mode() == RunMode::DontAsk {
            return Answer::Unanswered {
                reason: format!("{}; mode `dontAsk` does not ask", question.reason),
            };
        }
        let no_input = Value::Object(Map::new());
        let input = question.call.input.json().unwrap_or(&no_input);
        let request = HostRequest::CanUseTool {
            tool_name: &question.call.name,
            display_name: &question.call.name,
            input,
            permission_suggestions: suggestions(&question, self.mode()),
            blocked_path: outside_path(input, &self.workspace),
            decision_reason: &question.reason,
            description: description(input),
            tool_use_id: question.call.public_id(),
            agent_id: question.agent.as_deref(),
        };
        let answer = match self.host.ask(request, self.limit).await {
            Ok(answer) => answer,
            Err(error) => {
                return Answer::Unanswered { reason: format!("it needs approval, and {error}") };
            }
        };
        match serde_json::from_value(answer) {
            Ok(HostDecision::Allow { updated_input, updated_permissions }) => {
                self.allow(&question, updated_input, updated_permissions)
            }
            Ok(HostDecision::Deny { message, interrupt: false }) => {
                Answer::Deny { note: message.filter(|message| !message.is_empty()) }
            }
            Ok(HostDecision::Deny { message, interrupt: true }) => {
                let note = message.clone().unwrap_or_default();
                let (ended, interrupted) = oneshot::channel();
                if self.commands.send(HostCommand::Interrupt { note, ended }).is_err() {
                    return Answer::Deny { note: Some("the run is ending".to_owned()) };
                }
                // The interrupt withdraws a question of the turn, which drops this future. It does not
                // withdraw those of agents in the background and of calls for the host.
                let _ = interrupted.await;
                Answer::Deny { note: message.filter(|message| !message.is_empty()) }
            }
            Err(error) => Answer::Unanswered {
                reason: format!("it needs approval, and the host's answer is not valid: {error}"),
            },
        }
    }
}

/// Asks the host a question of the model: a request about the tool AskUserQuestion, whose answers
/// come back in `updatedInput`.
#[async_trait::async_trait]
impl QuestionHandler for HostApprover {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        let options: Vec<_> = question
            .options
            .iter()
            .flatten()
            .map(|option| json!({"label": option.label(), "description": option.description()}))
            .collect();
        let input = json!({"questions": [{
            "question": question.question,
            "header": question.header.as_deref().unwrap_or_default(),
            "options": options,
            "multiSelect": question.multi_select.unwrap_or(false),
        }]});
        let request = HostRequest::CanUseTool {
            tool_name: "AskUserQuestion",
            display_name: "AskUserQuestion",
            input: &input,
            permission_suggestions: Vec::new(),
            blocked_path: None,
            decision_reason: "the model asks the user",
            description: &question.question,
            tool_use_id: "",
            agent_id: None,
        };
        let answer = self.host.ask(request, self.limit).await.ok()?;
        let answers = answer.get("updatedInput")?.get("answers")?;
        let answer = answers.get(&question.question)?;
        Some(answer.as_str().map_or_else(|| answer.to_string(), str::to_owned))
    }
}

impl HostApprover {
    fn allow(
        &self,
        question: &Question,
        updated_input: Option<Value>,
        updates: Vec<UpdateInput>,
    ) -> Answer {
        let accepted = permission_updates::accept(updates, question);
        for change in accepted.changes {
            let _ = self.commands.send(HostCommand::Change(change));
        }
        let note = accepted.note.map(str::to_owned);
        let changed =
            updated_input.filter(|input| question.call.input != ToolInput::Json(input.clone()));
        match (changed, accepted.scope) {
            (Some(input), _) => Answer::AllowChanged { input, note },
            (None, Scope::Once) => Answer::Allow { note },
            (None, scope) => {
                let rules = accepted.rules;
                if scope == Scope::Always {
                    self.saved.expect(rules.clone(), accepted.layers);
                }
                Answer::Remember { scope, rules, note }
            }
        }
    }
}

/// The answer of a host to `can_use_tool`.
#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum HostDecision {
    Allow {
        #[serde(default)]
        updated_input: Option<Value>,
        #[serde(default, deserialize_with = "or_empty")]
        updated_permissions: Vec<UpdateInput>,
    },
    Deny {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        interrupt: bool,
    },
}

fn or_empty<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Vec<UpdateInput>, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// Returns what the host can do besides approving the call: save its narrow rules, or let the
/// session edit files.
fn suggestions(question: &Question, mode: RunMode) -> Vec<PermissionUpdate> {
    let rules: Vec<_> = question.rules.iter().map(|rule| rule_value(rule)).collect();
    let (behavior, destination) = Default::default();
    let add = PermissionUpdate::AddRules { rules, behavior, destination };
    let has_rules = !question.rules.is_empty();
    let edits = question.class == Class::Modify && mode == RunMode::Session(Mode::Default);
    let (mode, destination) = Default::default();
    let accept_edits = PermissionUpdate::SetMode { mode, destination };
    has_rules.then_some(add).into_iter().chain(edits.then_some(accept_edits)).collect()
}

/// Splits a rule: `Bash(git log *)` is the tool `Bash` and `git log *`.
fn rule_value(rule: &str) -> RuleValue {
    let parts = rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
    match parts {
        Some((tool, content)) => {
            RuleValue { tool_name: tool.to_owned(), rule_content: Some(content.to_owned()) }
        }
        None => RuleValue { tool_name: rule.to_owned(), rule_content: None },
    }
}

/// Returns the path of a call that is outside of the workspace.
fn outside_path<'a>(input: &'a Value, workspace: &[PathBuf]) -> Option<&'a str> {
    let path =
        ["file_path", "notebook_path", "path"].iter().find_map(|key| input.get(key)?.as_str())?;
    let absolute = Path::new(path).is_absolute();
    let inside = workspace.iter().any(|folder| Path::new(path).starts_with(folder));
    (absolute && !inside).then_some(path)
}

/// Describes a call by its arguments.
fn description(input: &Value) -> &str {
    ["description", "command", "file_path", "path", "url", "pattern"]
        .iter()
        .find_map(|key| input.get(key)?.as_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
