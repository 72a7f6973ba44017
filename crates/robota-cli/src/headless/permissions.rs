//! Asks the host about calls that need approval, and the questions of the model (`can_use_tool`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::approve::{Answer, Approver, Question};
use robota_core::ids::{CallId, TaskId};
use robota_core::permission::{Class, Mode};
use robota_tools::{ASK_USER, Answers, QuestionHandler, UserQuestion};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::decisions::{Decision, Decisions};
use super::host::Host;
use super::mcp::CallIds;

use robota_stream_json::{HostRequest, PermissionSuggestion, RuleValue};

/// Asks the host about calls.
pub(crate) struct HostApprover {
    host: Arc<Host>,
    limit: Duration,
    announced: Announced,
    decisions: Arc<Decisions>,
    call_ids: Arc<CallIds>,
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
        decisions: Arc<Decisions>,
        call_ids: Arc<CallIds>,
    ) -> Self {
        let workspace = decisions.saved.workspace();
        Self { host, limit, announced: Announced::default(), decisions, call_ids, workspace }
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
            // Registered before the check: an announcement between the two would otherwise be
            // missed.
            changed.as_mut().enable();
            if self.announced.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(call) {
                return;
            }
            changed.await;
        }
    }

    /// Asks the host the questions of the model: a request about the tool AskUserQuestion, whose
    /// answers come back in `updatedInput`.
    async fn ask_model_questions(&self, call: &str, questions: &[UserQuestion]) -> Answers {
        if !self.decisions.may_ask() {
            let reason = "the permission mode `dontAsk` does not ask the user".to_owned();
            return Answers::Refused { reason: Some(reason) };
        }
        let input = json!({"questions": questions.iter().map(question_input).collect::<Vec<_>>()});
        let texts: Vec<_> = questions.iter().map(|question| question.question.as_str()).collect();
        let request = HostRequest::CanUseTool {
            tool_name: ASK_USER,
            display_name: ASK_USER,
            input: &input,
            permission_suggestions: Vec::new(),
            blocked_path: None,
            decision_reason: "the model asks the user",
            description: &texts.join(" "),
            tool_use_id: call,
            agent_id: None,
        };
        let answer = self.host.ask(request, self.limit).await;
        let decision = match answer.map(serde_json::from_value) {
            Ok(Ok(decision)) => decision,
            Ok(Err(error)) => {
                let reason = format!("the host's answer is not valid: {error}");
                return Answers::Refused { reason: Some(reason) };
            }
            Err(error) => return Answers::Refused { reason: Some(error.to_string()) },
        };
        match decision {
            Decision::Allow { updated_input, .. } => {
                let answers = updated_input.as_ref().and_then(|input| input.get("answers"));
                let of = |question: &str| robota_tools::answer_text(answers?.get(question)?);
                Answers::Given(texts.into_iter().map(of).collect())
            }
            Decision::Deny { message, interrupt } => {
                Answers::Refused { reason: self.decisions.deny(message, interrupt, None).await }
            }
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
        self.decisions.may_ask()
    }

    async fn ask(&self, question: Question) -> Answer {
        if let Some(answer) = self.decisions.unasked(&question) {
            return answer;
        }
        let no_input = Value::Object(Map::new());
        let input = question.call.input.json().unwrap_or(&no_input);
        let request = HostRequest::CanUseTool {
            tool_name: &question.call.name,
            display_name: &question.call.name,
            input,
            permission_suggestions: suggestions(&question, self.decisions.mode()),
            blocked_path: outside_path(input, &self.workspace),
            decision_reason: &question.reason,
            description: description(input),
            tool_use_id: question.call.public_id(),
            agent_id: question.task.as_ref().map(TaskId::as_str),
        };
        let answer = match self.host.ask(request, self.limit).await {
            Ok(answer) => answer,
            Err(error) => {
                return Answer::Unanswered { reason: format!("it needs approval, and {error}") };
            }
        };
        let answer = self.decisions.answer(&question, answer).await;
        answer.unwrap_or_else(|error| Answer::Unanswered {
            reason: format!("it needs approval, and the host's answer is not valid: {error}"),
        })
    }
}

#[async_trait::async_trait]
impl QuestionHandler for HostApprover {
    async fn ask(&self, question: &UserQuestion) -> Option<String> {
        match self.ask_model_questions("", std::slice::from_ref(question)).await {
            Answers::Given(answers) => answers.into_iter().next().flatten(),
            Answers::Refused { .. } => None,
        }
    }

    async fn ask_all(&self, call: &CallId, questions: &[UserQuestion]) -> Answers {
        self.wait_until_printed(call).await;
        let public = self.call_ids.public(call);
        self.ask_model_questions(public.as_deref().unwrap_or(call.as_str()), questions).await
    }
}

/// Returns a question as hosts read it.
fn question_input(question: &UserQuestion) -> Value {
    let options: Vec<_> = question
        .options
        .iter()
        .flatten()
        .map(|option| json!({"label": option.label(), "description": option.description()}))
        .collect();
    json!({
        "question": question.question,
        "header": question.header.as_deref().unwrap_or_default(),
        "options": options,
        "multiSelect": question.multi_select.unwrap_or(false),
    })
}

/// Returns what the host can do besides approving the call: save its narrow rules, or let the
/// session edit files.
fn suggestions(question: &Question, mode: Mode) -> Vec<PermissionSuggestion> {
    // Rules for the call, not for its folder: a user who allows one file has not allowed more.
    let rules: Vec<_> = question.rules.iter().map(|rule| rule_value(rule)).collect();
    // Types of one value each: a suggestion is never a denial, and never goes into a shared file.
    let (behavior, destination) = Default::default();
    let add = PermissionSuggestion::AddRules { rules, behavior, destination };
    let has_rules = !question.rules.is_empty();
    let edits = question.class == Class::Modify && mode == Mode::Default;
    let (mode, destination) = Default::default();
    let accept_edits = PermissionSuggestion::SetMode { mode, destination };
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
