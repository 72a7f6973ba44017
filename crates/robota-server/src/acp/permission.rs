//! Approvals: asks the user of the editor about a call.

use robota_core::approve::{Question, Scope};
use robota_core::message::ToolInput;
use robota_sdk::InteractiveSession;
use robota_session::Decision;
use serde_json::Value;

use super::connection::Connection;
use super::tool_call;
use super::v1::{
    PermissionOption, PermissionOptionKind, PermissionOutcome, PermissionRequest,
    PermissionResponse, ToolCall, ToolCallStatus,
};

// The ids of the answers. The editor sends one of them back.
const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow_session";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT: &str = "reject";

/// Asks about a call, and passes the answer to the session, unless the question is no longer open.
pub(super) async fn ask(connection: &Connection, session: &InteractiveSession, question: Question) {
    let id = session.id().to_string();
    let request = PermissionRequest {
        session_id: &id,
        tool_call: describe(&question, session).await,
        options: options(&question.rules),
    };
    let answer = connection.request("session/request_permission", &request).await;
    let (decision, note) = match answer {
        Ok(PermissionResponse { outcome: PermissionOutcome::Selected { option_id } }) => {
            match option_id.as_str() {
                ALLOW => (Decision::Allow(Scope::Once), None),
                ALLOW_SESSION => (Decision::Allow(Scope::Session), None),
                ALLOW_ALWAYS => (Decision::Allow(Scope::Always), None),
                REJECT => (Decision::Deny, None),
                // An answer that was not offered must not allow anything.
                other => (
                    Decision::Deny,
                    Some(format!("the editor chose `{other}`, which was not offered")),
                ),
            }
        }
        Ok(PermissionResponse { outcome: PermissionOutcome::Cancelled }) => {
            (Decision::Deny, Some("the question was cancelled".to_owned()))
        }
        // No answer is a denial: an editor that cannot ask has no user who approved.
        Err(error) => (Decision::Deny, Some(format!("the editor cannot ask: {}", error.message))),
    };
    // Fails if the turn was interrupted meanwhile; then the answer is not needed.
    let _ = session.session().permissions().decide(&question.call.call, decision, note).await;
}

/// Describes the call: what it does and why it needs approval.
async fn describe(question: &Question, session: &InteractiveSession) -> ToolCall {
    let (call, none) = (&question.call, Value::Null);
    let input = match &call.input {
        ToolInput::Json(input) => input,
        ToolInput::Unparsed(_) => &none,
    };
    let cwd = session.project().map(|project| project.cwd().to_owned()).unwrap_or_default();
    let old = tool_call::old_text(&call.name, input, &cwd).await;
    let mut content = tool_call::diffs(&call.name, input, &cwd, old);
    if content.is_empty() {
        // Without a change to show, the reason is all that the user has to decide by.
        let text = super::v1::ContentBlock::text(&question.reason);
        content.push(super::v1::ToolCallContent::Content { content: text });
    }
    let title = tool_call::title(&call.name, input);
    let title = match &question.agent {
        Some(agent) => format!("{agent}: {title}"),
        None => title,
    };
    ToolCall {
        tool_call_id: call.call.to_string(),
        title: Some(title),
        kind: Some(tool_call::kind(&call.name)),
        status: Some(ToolCallStatus::Pending),
        content: Some(content),
        locations: Some(tool_call::locations(input, &cwd)),
        raw_input: Some(input.clone()),
        raw_output: None,
    }
}

/// Returns the answers to choose from. An answer that lasts names the narrow rules that it saves.
fn options(rules: &[String]) -> Vec<PermissionOption> {
    let option = |option_id, name: String, kind| PermissionOption { option_id, name, kind };
    let mut options = vec![option(ALLOW, "Allow".to_owned(), PermissionOptionKind::AllowOnce)];
    if !rules.is_empty() {
        let rules = rules.join(", ");
        let always = PermissionOptionKind::AllowAlways;
        // The protocol has no kind for "in this session"; the name says what each answer saves.
        options.push(option(ALLOW_SESSION, format!("Allow in this session: {rules}"), always));
        options.push(option(ALLOW_ALWAYS, format!("Always allow: {rules}"), always));
    }
    options.push(option(REJECT, "Reject".to_owned(), PermissionOptionKind::RejectOnce));
    options
}

#[cfg(test)]
mod tests;
