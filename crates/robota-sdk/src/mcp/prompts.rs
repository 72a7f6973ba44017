//! Prompts of servers as commands in menus.

use robota_mcp::client::McpServers;

use crate::commands::{CommandInfo, CommandOrigin, CommandSource};

/// Lists the prompts that the servers have announced so far.
pub(crate) struct PromptSource(pub(crate) McpServers);

impl CommandSource for PromptSource {
    fn commands(&self) -> Vec<CommandInfo> {
        let infos = self.0.prompts().into_iter().map(|prompt| CommandInfo {
            argument_hint: Some(prompt.argument_hint).filter(|hint| !hint.is_empty()),
            origin: CommandOrigin::Mcp,
            ..CommandInfo::new(prompt.name, prompt.description)
        });
        infos.collect()
    }
}
