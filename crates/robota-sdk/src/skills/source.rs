//! Skills as commands in menus.

use std::sync::{Arc, Mutex};

use robota_config::skills::Skills;

use crate::commands::{CommandInfo, CommandOrigin, CommandSource};
use crate::context::lock;

/// Lists the skills that the user can invoke.
pub(crate) struct SkillSource(pub(crate) Arc<Mutex<Skills>>);

impl CommandSource for SkillSource {
    fn commands(&self) -> Vec<CommandInfo> {
        let skills = lock(&self.0);
        let infos = skills.for_user().map(|skill| CommandInfo {
            argument_hint: skill.argument_hint.clone(),
            model_invocable: skills.is_for_model(&skill),
            origin: CommandOrigin::Skill,
            ..CommandInfo::new(skill.name.as_str(), skill.description.clone().unwrap_or_default())
        });
        infos.collect()
    }
}
