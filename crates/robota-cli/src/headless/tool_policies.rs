//! What a host declares about the tools of its MCP servers: which calls always need approval, and which
//! are always denied.

use std::collections::BTreeMap;

use robota_core::permission::Verdict;
use robota_mcp::names::tool_name;
use robota_session::{Session, SessionError};
use serde_json::Value;

/// Rules that deny calls, or require approval for them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolPolicies(BTreeMap<&'static str, Vec<String>>);

const DENY: &str = "always_deny";
const ASK: &str = "always_ask";
/// Ignored: a host allows calls in other ways.
const ALLOW: &str = "always_allow";

impl ToolPolicies {
    /// Reads `tools` of the settings of each server. A policy that is not known requires approval.
    pub(crate) fn read(servers: &Value) -> Self {
        let mut policies = Self::default();
        for (server, config) in servers.as_object().into_iter().flatten() {
            for tool in config.get("tools").and_then(Value::as_array).into_iter().flatten() {
                let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
                let list = match tool.get("permission_policy").and_then(Value::as_str) {
                    Some(DENY) => DENY,
                    Some(ALLOW) => continue,
                    _ => ASK,
                };
                policies.0.entry(list).or_default().push(tool_name(server, name));
            }
        }
        policies
    }

    /// Adds the rules to a session.
    ///
    /// # Errors
    /// If a name cannot be part of a rule.
    pub(crate) fn apply(&self, session: &Session) -> Result<(), SessionError> {
        let permissions = session.permissions();
        for (list, rules) in &self.0 {
            let verdict = if *list == DENY { Verdict::Deny } else { Verdict::Ask };
            permissions.restrict(verdict, rules)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
