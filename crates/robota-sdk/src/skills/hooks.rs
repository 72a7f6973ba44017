//! Hooks of skills (`hooks` in the header). They run from the first use of the skill on.

use std::sync::{Arc, PoisonError};

use robota_core::hook::{HookDefinition, HookEvent, HookGroup, HookRunner};
use serde_json::Value;

use crate::notice::Notice;
use crate::project::Project;
use crate::settings_hooks::HookFiles;

type NoticeHandler = Arc<dyn Fn(Notice) + Send + Sync>;

/// Adds the hooks of skills to those of a session.
#[derive(Clone)]
pub(crate) struct SkillHooks {
    pub(crate) runner: Arc<HookRunner>,
    pub(crate) files: HookFiles,
    pub(crate) on_notice: NoticeHandler,
}

impl SkillHooks {
    /// Adds the hooks of a trusted skill. A hook that cannot be read denies where hooks decide.
    pub(crate) fn add(&self, project: &Project, skill: &str, hooks: &Value) {
        if project.settings.values.disable_all_hooks == Some(true) {
            return;
        }
        let problem = |text: String| {
            (self.on_notice)(Notice::Error(format!("the skill `{skill}`: {text}")));
        };
        let Some(events) = hooks.as_object() else {
            return problem("`hooks` must name events".to_owned());
        };
        let mut read = Vec::new();
        for (name, groups) in events {
            let Ok(event) = name.parse::<HookEvent>() else {
                problem(format!("the hook event `{name}` is not known; its hooks never run"));
                continue;
            };
            let groups = match groups {
                Value::Array(groups) => groups.iter().map(group).collect(),
                other => vec![group(other)],
            };
            read.push((event, groups));
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.add(project.cwd(), hooks);
        drop(files);
        for invalid in self.runner.use_skill(skill, read) {
            problem(invalid.to_string());
        }
    }
}

fn group(value: &Value) -> HookGroup {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| HookGroup {
        matcher: None,
        hooks: vec![HookDefinition::unusable(value.clone(), error.to_string())],
    })
}
