//! Approvals: asks the user of the MCP host about a call.

use robota_core::approve::{Question, Scope};
use robota_mcp::server::{Asked, McpHost};
use robota_session::{Decision, Permissions};
use serde_json::{Value, json};

const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow_session";
const DENY: &str = "deny";

/// Asks the user, and passes the answer to the session. Returns false if the host cannot ask.
pub(super) async fn ask(host: &McpHost, permissions: &Permissions, question: &Question) -> bool {
    let answer = host.ask(&message(question), schema(&question.rules)).await;
    let decision = match &answer {
        Asked::Unsupported => return false,
        Asked::Declined => Decision::Deny,
        Asked::Accepted(form) => match form.get("decision").and_then(Value::as_str) {
            Some(ALLOW) => Decision::Allow(Scope::Once),
            Some(ALLOW_SESSION) => Decision::Allow(Scope::Session),
            _ => Decision::Deny,
        },
    };
    // Fails if the turn was interrupted meanwhile; then the answer is not needed.
    let _ = permissions.decide(&question.call.call, decision, None).await;
    true
}

/// Says what the call does and why it needs approval.
fn message(question: &Question) -> String {
    let input = question.call.input.json().map(ToString::to_string).unwrap_or_default();
    let shown: String = input.chars().take(2_000).collect();
    let agent = question.agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
    format!("Allow {} {shown}{agent}? {}", question.call.name, question.reason)
}

fn schema(rules: &[String]) -> Value {
    let mut values = vec![ALLOW];
    let mut names = vec!["Allow".to_owned()];
    if !rules.is_empty() {
        values.push(ALLOW_SESSION);
        names.push(format!("Allow in this session: {}", rules.join(", ")));
    }
    values.push(DENY);
    names.push("Deny".to_owned());
    let decision =
        json!({"type": "string", "title": "Decision", "enum": values, "enumNames": names});
    json!({"type": "object", "properties": {"decision": decision}, "required": ["decision"]})
}
