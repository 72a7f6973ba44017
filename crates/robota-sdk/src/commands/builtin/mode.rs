//! `/mode`: shows or changes the permission mode.

use super::failed;
use async_trait::async_trait;
use robota_core::permission::Mode;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct ModeCommand;

#[async_trait]
impl SystemCommand for ModeCommand {
    fn info(&self) -> CommandInfo {
        MODES.iter().fold(
            CommandInfo::new("mode", "Shows or changes the permission mode")
                .arguments("[plan|default|dontAsk|acceptEdits|bypassPermissions]"),
            |info, (name, _, description)| info.subcommand(name, description),
        )
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let permissions = session.session().permissions();
        let wanted = arguments.trim();
        if wanted.is_empty() {
            let mode = name(permissions.mode());
            return CommandResult::ok(format!("Permission mode: {mode}")).with("mode", mode);
        }
        let Some((name, mode, _)) = MODES.iter().find(|(name, ..)| *name == wanted) else {
            let names: Vec<_> = MODES.iter().map(|(name, ..)| *name).collect();
            let text = format!("Unknown mode `{wanted}`. Modes: {}", names.join(", "));
            return CommandResult::failed(text);
        };
        match session.set_mode(*mode).await {
            Ok(()) => CommandResult::ok(format!("Permission mode: {name}")).with("mode", *name),
            Err(error) => failed(&error),
        }
    }
}

/// The modes, with their names and what they allow.
const MODES: [(&str, Mode, &str); 5] = [
    ("plan", Mode::Plan, "Only reads"),
    ("default", Mode::Default, "Asks before everything but reading"),
    ("dontAsk", Mode::DontAsk, "Denies what needs approval, without a question"),
    ("acceptEdits", Mode::AcceptEdits, "Edits files without asking"),
    ("bypassPermissions", Mode::BypassPermissions, "Asks only where a rule says so"),
];

fn name(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, known, _)| *known == mode).map_or("default", |(name, ..)| name)
}
