//! Hooks of skills and agents (`hooks` in the header). They run from the first use on.

use std::sync::{Arc, PoisonError};

use robota_config::Layer;
use robota_core::hook::{HookDefinition, HookEvent, HookGroup, HookRunner};
use serde_json::Value;

use crate::notice::Notice;
use crate::project::Project;
use crate::settings_hooks::HookFiles;

type NoticeHandler = Arc<dyn Fn(Notice) + Send + Sync>;

/// The skill or agent whose header has hooks.
pub(crate) struct HookOwner {
    /// How messages name it.
    pub(crate) name: String,
    /// Where its file is: the administrator may allow only hooks of files of the administrator.
    pub(crate) layer: Layer,
}

/// Adds the hooks of skills and agents to those of a session.
#[derive(Clone)]
pub(crate) struct OwnHooks {
    pub(crate) runner: Arc<HookRunner>,
    pub(crate) files: HookFiles,
    pub(crate) on_notice: NoticeHandler,
}

impl OwnHooks {
    /// Adds the hooks of a trusted skill or agent. A hook that cannot be read denies where hooks decide.
    pub(crate) fn add(&self, project: &Project, owner: &HookOwner, hooks: &Value) {
        self.add_as(project, owner, hooks, |event, group| (event, group));
    }

    /// Adds hooks, each for the event and with the matcher that `place` returns.
    pub(crate) fn add_as(
        &self,
        project: &Project,
        HookOwner { name: owner, layer }: &HookOwner,
        hooks: &Value,
        place: impl Fn(HookEvent, HookGroup) -> (HookEvent, HookGroup),
    ) {
        if project.settings.values.disable_all_hooks == Some(true) {
            return;
        }
        if project.settings.managed_hooks_only && *layer != Layer::Managed {
            let text = "its hooks do not run: the administrator of this machine allows only those of \
                        the managed settings, skills and agents";
            (self.on_notice)(Notice::Note(format!("{owner}: {text}")));
            return;
        }
        let problem = |text: String| {
            (self.on_notice)(Notice::Error(format!("{owner}: {text}")));
        };
        if !hooks.is_object() {
            return problem("`hooks` must name events".to_owned());
        }
        let mut read = Vec::new();
        for (name, group) in written_groups(hooks) {
            let Ok(event) = name.parse::<HookEvent>() else {
                problem(format!("the hook event `{name}` is not known; its hooks never run"));
                continue;
            };
            let (event, group) = place(event, group);
            read.push((event, vec![group]));
        }
        // As they are now: a script that changes later makes its hook fail.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.add(&project.places, hooks);
        drop(files);
        for invalid in self.runner.use_skill(owner, read) {
            problem(invalid.to_string());
        }
    }
}

/// Returns the groups of a header with the names of their events, as they are written.
pub(crate) fn written_groups(hooks: &Value) -> Vec<(&str, HookGroup)> {
    let events = hooks.as_object().into_iter().flatten();
    let groups = events.flat_map(|(name, groups)| {
        let groups = groups.as_array().map_or(std::slice::from_ref(groups), Vec::as_slice);
        groups.iter().map(move |value| (name.as_str(), group(value)))
    });
    groups.collect()
}

fn group(value: &Value) -> HookGroup {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| HookGroup {
        matcher: None,
        hooks: vec![HookDefinition::unusable(value.clone(), error.to_string())],
    })
}
