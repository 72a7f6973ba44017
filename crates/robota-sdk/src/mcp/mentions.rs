//! Mentions of resources in prompts: `@server:uri`.

use robota_core::gate::Source;
use robota_core::ids::{CallId, RandomIds};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::tool::ToolSpec;
use robota_mcp::client::READ_RESOURCE;
use robota_session::Session;
use serde_json::json;

use super::SessionMcp;

/// At most this many resources of one prompt are read.
const MAX_MENTIONS: usize = 20;

/// Returns the resources that a text mentions: the server and the address. `is_server` says which names
/// are servers.
pub(crate) fn mentions(text: &str, is_server: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '"', '\'']);
        let Some((server, uri)) = word.strip_prefix('@').and_then(|it| it.split_once(':')) else {
            continue;
        };
        let uri = uri.trim_end_matches([',', ';', ')', '"', '\'']);
        // The end of a sentence is no part of the address.
        let uri = uri.strip_suffix(['.', '?', '!']).unwrap_or(uri);
        let mention = (server.to_owned(), uri.to_owned());
        if !uri.is_empty() && is_server(server) && !found.contains(&mention) {
            found.push(mention);
        }
    }
    found.truncate(MAX_MENTIONS);
    found
}

impl SessionMcp {
    /// Checks the rules about a resource that the user mentions. Neither the mode nor a question stops
    /// it: the user asked for it.
    ///
    /// # Errors
    /// If a rule denies the server or the reading; the text says why.
    pub(crate) async fn may_read_resource(
        &self,
        session: &Session,
        server: &str,
        uri: &str,
    ) -> Result<(), String> {
        if self.denies_server(server) {
            return Err(format!("a rule denies the MCP server `{server}`"));
        }
        let input = ToolInput::Json(json!({"server": server, "uri": uri}));
        let call = ToolUse::new(CallId::mint(&RandomIds), "mention", READ_RESOURCE, input);
        // The tool itself exists only while a connected server has resources.
        let spec = ToolSpec {
            name: READ_RESOURCE.to_owned(),
            description: String::new(),
            input_schema: json!({}),
            class: Class::Execute,
        };
        let judged = session.permissions().judge(&call, &spec).await;
        match (judged.verdict, judged.source) {
            (Verdict::Deny, Source::Rule) => Err(judged.reason),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
