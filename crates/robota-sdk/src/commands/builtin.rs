//! The built-in commands, one file each.

mod add_dir;
mod agent;
mod agents;
mod background;
mod clear;
mod compact;
mod context;
mod cost;
mod diff;
mod export;
mod help;
mod hooks;
mod language;
mod mcp;
mod memory;
mod mode;
mod model;
mod permissions;
mod rename;
mod reset;
mod resume;
mod rewind;
mod schedule;
mod skills;
mod todos;

use std::sync::Arc;

use robota_core::error::{Diagnose, error_chain};

use super::{CommandModule, CommandResult, SystemCommand};

/// Returns the built-in commands as a module. Sessions add it first, so that no other module
/// replaces one of them.
#[must_use]
pub fn commands() -> CommandModule {
    let commands: Vec<Arc<dyn SystemCommand>> = vec![
        Arc::new(add_dir::AddDir),
        Arc::new(agent::AgentCommand),
        Arc::new(agents::AgentsCommand),
        Arc::new(background::Background),
        Arc::new(clear::Clear),
        Arc::new(compact::Compact),
        Arc::new(context::Context),
        Arc::new(cost::Cost),
        Arc::new(diff::Diff),
        Arc::new(export::Export),
        Arc::new(help::Help),
        Arc::new(hooks::Hooks),
        Arc::new(language::Language),
        Arc::new(mcp::Mcp),
        Arc::new(memory::Memory),
        Arc::new(mode::ModeCommand),
        Arc::new(model::Model),
        Arc::new(permissions::PermissionsCommand),
        Arc::new(rename::Rename),
        Arc::new(reset::Reset),
        Arc::new(resume::Resume),
        Arc::new(rewind::Rewind),
        Arc::new(schedule::Schedule),
        Arc::new(skills::SkillsCommand),
        Arc::new(todos::Todos),
    ];
    CommandModule { commands, ..CommandModule::new("builtin") }
}

/// Returns the result of a command that an error ended.
fn failed<E: Diagnose>(error: &E) -> CommandResult {
    let text = error_chain(error);
    CommandResult::failed(match error.hint() {
        Some(hint) => format!("{text} ({hint})"),
        None => text,
    })
}
