//! `/skills`: lists the skills.

use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandOrigin, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct SkillsCommand;

#[async_trait]
impl SystemCommand for SkillsCommand {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("skills", "Lists the skills of the user and the folder").reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let mut skills = session.commands().list("");
        skills.retain(|info| info.origin == CommandOrigin::Skill);
        let lines = skills.iter().map(|info| format!("/{}  {}", info.name, info.description));
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = if text.is_empty() { "There are no skills.".to_owned() } else { text };
        CommandResult::ok(text).with("skills", json!(skills))
    }
}
