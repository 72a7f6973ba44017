//! Skills as commands in menus.

use std::sync::{Arc, Mutex};

use robota_config::skills::Skills;

use crate::commands::{CommandInfo, CommandOrigin, CommandSource};
use crate::context::lock;

/// Lists the skills that the user can invoke.
pub(crate) struct SkillSource {
    pub(crate) skills: Arc<Mutex<Skills>>,
    /// The names of the plugins, which the names of their skills begin with.
    pub(crate) plugins: Vec<String>,
}

impl CommandSource for SkillSource {
    fn commands(&self) -> Vec<CommandInfo> {
        let skills = lock(&self.skills);
        let is_plugins = |name: &str| {
            // A command in a folder has a colon in its name, too, so the prefix must be a plugin.
            let plugin = name.split_once(':').map(|(plugin, _)| plugin);
            plugin.is_some_and(|plugin| self.plugins.iter().any(|it| it == plugin))
        };
        let infos = skills.for_user().map(|skill| CommandInfo {
            argument_hint: skill.argument_hint.clone(),
            model_invocable: skills.is_for_model(&skill),
            origin: match is_plugins(&skill.name) {
                true => CommandOrigin::Plugin,
                false => CommandOrigin::Skill,
            },
            ..CommandInfo::new(skill.name.as_str(), skill.description.clone().unwrap_or_default())
        });
        infos.collect()
    }
}
