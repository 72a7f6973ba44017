//! `/hooks`: lists the hooks of the session.

use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::hooks::{HookEffect, HookListing};
use crate::interactive::InteractiveSession;

pub(super) struct Hooks;

#[async_trait]
impl SystemCommand for Hooks {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("hooks", "Lists the hooks: what runs when, and from which file")
            .reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let Some(listing) = HookListing::of_session(session) else {
            return CommandResult::ok("This session has no settings.");
        };
        let mut lines = Vec::new();
        if listing.disabled {
            lines.push("disableAllHooks turns all hooks off.".to_owned());
        }
        for hook in &listing.hooks {
            let matcher = hook.matcher.as_deref().map(|it| format!("({it})")).unwrap_or_default();
            let effect = match &hook.effect {
                HookEffect::Runs => String::new(),
                HookEffect::RunsDetached => " [in the background]".to_owned(),
                HookEffect::Duplicate => " [runs once: defined twice]".to_owned(),
                HookEffect::Blocks(why) => format!(" [blocks: {why}]"),
                HookEffect::Never(why) => format!(" [never runs: {why}]"),
            };
            let source = hook.source();
            lines.push(format!("{}{matcher}  {}{effect}  {source}", hook.event, hook.label));
        }
        if lines.is_empty() {
            lines.push("No hooks are configured.".to_owned());
        }
        CommandResult::ok(lines.join("\n")).with("hooks", json!(listing))
    }
}
