//! The tools that a session offers to its model.

use robota_core::tool::ToolSpec;

use super::InteractiveSession;
use crate::mcp::SessionMcp;

/// The tools that a session offers to its model.
///
/// ```
/// # fn example(session: &robota_sdk::InteractiveSession) {
/// assert!(session.tools().names().contains(&"Read".to_owned()));
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct OfferedTools<'a>(pub(super) &'a InteractiveSession);

impl<'a> OfferedTools<'a> {
    /// Returns the names, also those of tools of MCP servers.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let fixed = self.specs().iter().map(|spec| spec.name.clone());
        fixed.chain(self.0.0.mcp.iter().flat_map(SessionMcp::offered)).collect()
    }

    /// Returns the descriptions, except those of tools of MCP servers.
    #[must_use]
    pub fn specs(&self) -> &'a [ToolSpec] {
        self.0.0.tools.get().map(Vec::as_slice).unwrap_or_default()
    }
}
