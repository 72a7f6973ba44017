//! Resources of MCP servers that a prompt mentions: `@server:uri`. The user asked for the resource by
//! typing its address, so it needs no approval; what a rule denies is not read.

use robota_core::call::CallContext;
use robota_core::message::{Block, ResultBlock};

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
            let mut scope = CallContext::detached().with_blobs(self.session().journal().blobs());
            scope.redactor = self.session().config().redactor();
            let read = match mcp.may_read_resource(self.session(), &server, &uri).await {
                Ok(()) => mcp
                    .servers
                    .resource_content(&server, &uri, &scope)
                    .await
                    .map_err(|error| error.to_string()),
                Err(reason) => Err(reason),
            };
            let attached = match read {
                Ok(found) => attach(&format!("[resource {server}:{uri}]"), found, content),
                Err(reason) => Attached::Nothing { reason },
            };
            attachments.push(Attachment { path: format!("{server}:{uri}"), attached });
        }
        attachments
    }
}

/// Adds the content of a resource after its label.
fn attach(label: &str, found: Vec<ResultBlock>, content: &mut Vec<Block>) -> Attached {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in found {
        match block {
            ResultBlock::Text(text) => texts.push(text.text),
            ResultBlock::Image(image) => images.push(Block::Image(image)),
            _ => {}
        }
    }
    let text = texts.join("\n");
    if text.is_empty() && images.is_empty() {
        return Attached::Nothing { reason: "the resource is empty".to_owned() };
    }
    let (text, attached) = match text.get(..text.floor_char_boundary(MAX_BYTES)) {
        Some(part) if part.len() < text.len() => (part, Attached::Part),
        _ if text.is_empty() => ("", Attached::Image),
        _ => (text.as_str(), Attached::File),
    };
    content.push(Block::text(format!("{label}\n{text}")));
    content.extend(images);
    attached
}
