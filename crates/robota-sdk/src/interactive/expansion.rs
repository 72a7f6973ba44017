//! The hooks about commands that become prompts: skills, and prompts of MCP servers.

use robota_config::{Layer, LayerScope};
use robota_core::hook::{ExpansionType, HookData, HookEvent};
use robota_core::message::Block;

use super::{InteractiveSession, PreparedPrompt};
use crate::commands::CommandOrigin;
use crate::error::SdkError;

/// A command that the user typed and that becomes a prompt.
pub(super) struct Expansion<'a> {
    pub(super) kind: ExpansionType,
    /// The complete name, without the slash.
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    /// What the user typed.
    pub(super) typed: &'a str,
}

impl InteractiveSession {
    /// Runs the hooks before a command becomes a prompt. Returns the text that they add for the model.
    pub(super) async fn before_expansion(
        &self,
        expansion: &Expansion<'_>,
    ) -> Result<Option<String>, SdkError> {
        let Expansion { kind, name, arguments, typed } = *expansion;
        if !self.session().config().has_hooks(HookEvent::UserPromptExpansion) {
            return Ok(None);
        }
        self.ask_hooks(HookData::UserPromptExpansion {
            expansion_type: kind,
            command_name: name.to_owned(),
            command_args: arguments.to_owned(),
            command_source: self.command_source(kind, name).map(str::to_owned),
            prompt: typed.trim().to_owned(),
        })
        .await
    }

    /// Returns where a command comes from, by the name that hooks for Claude Code know.
    fn command_source(&self, kind: ExpansionType, name: &str) -> Option<&'static str> {
        if kind == ExpansionType::McpPrompt {
            return Some("mcp");
        }
        let listed = self.0.commands.list("").into_iter().find(|info| info.name == name);
        if listed.is_some_and(|info| info.origin == CommandOrigin::Plugin) {
            return Some("plugin");
        }
        let layer = self.0.skills.as_ref()?.layer(name)?;
        Some(match (layer, layer.scope()) {
            (Layer::BuiltIn, _) => "bundled",
            (_, LayerScope::User) => "userSettings",
            (_, LayerScope::Project) => "projectSettings",
        })
    }
}

impl PreparedPrompt {
    /// Adds the text of hooks before the prompt, so that the text of the user comes last.
    pub(super) fn with_context(mut self, context: Option<String>) -> Self {
        self.content.splice(0..0, context.map(Block::text));
        self
    }
}
