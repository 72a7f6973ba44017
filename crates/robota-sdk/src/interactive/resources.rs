//! Resources of MCP servers that a prompt mentions: `@server:uri`. The user asked for the resource by
//! typing its address, so it needs no approval; what a rule denies is not read.

use robota_core::message::Block;

use super::InteractiveSession;
use crate::mcp::mentions;
use crate::mentions::{Attached, Attachment};

/// The most bytes of one attached resource.
const MAX_BYTES: usize = 64 * 1024;

impl InteractiveSession {
    /// Adds the resources that a text mentions to the content of its prompt.
    pub(super) async fn attach_resources(
        &self,
        text: &str,
        content: &mut Vec<Block>,
    ) -> Vec<Attachment> {
        let Some(mcp) = self.mcp() else { return Vec::new() };
        let mut attachments = Vec::new();
        for (server, uri) in mentions(text, |name| mcp.scope(name).is_some()) {
            let read = match mcp.may_read_resource(self.session(), &server, &uri).await {
                Ok(()) => mcp.servers.resource_text(&server, &uri).await.map_err(|e| e.to_string()),
                Err(reason) => Err(reason),
            };
            let attached = match read {
                Ok(text) => {
                    let (text, attached) = match text.get(..text.floor_char_boundary(MAX_BYTES)) {
                        Some(part) if part.len() < text.len() => (part, Attached::Part),
                        _ => (text.as_str(), Attached::File),
                    };
                    content.push(Block::text(format!("[resource {server}:{uri}]\n{text}")));
                    attached
                }
                Err(reason) => Attached::Nothing { reason },
            };
            attachments.push(Attachment { path: format!("{server}:{uri}"), attached });
        }
        attachments
    }
}
