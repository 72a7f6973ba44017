//! Builds the hook runner of a session from the settings.

use std::sync::Arc;
use std::time::Duration;

use robota_config::NamedFiles;
use robota_core::hook::{
    HookContext, HookDefinition, HookEvent, HookExecutor, HookExit, HookKind, HookNotice,
    HookRunner,
};
use robota_core::ids::SessionId;
use robota_exec::{CommandHooks, Environment, Supervisor};
use robota_session::RuleCondition;
use serde_json::json;

use crate::project::{self, Project};

/// Returns the hook runner of a session. Only command hooks have an executor here; a hook of another
/// kind denies where hooks decide.
pub(crate) fn runner(
    project: &Project,
    session: &SessionId,
    supervisor: &Supervisor,
    environment: &Environment,
    on_notice: impl Fn(HookNotice) + Send + Sync + 'static,
) -> HookRunner {
    let cwd = &project.places.cwd;
    let mut context = HookContext::new(session.as_str(), cwd.display().to_string());
    context.permission_mode = Some(project.settings.permissions.mode);
    let commands =
        CommandHooks::new(supervisor.clone(), cwd, session.as_str(), environment.clone());
    let commands = UnchangedHooks { commands, files: project.settings.named_files.clone() };
    let mut runner = HookRunner::new(context)
        .executor(HookKind::Command, Arc::new(commands))
        .condition(Arc::new(RuleCondition::new(project.workspace(), project::paths())))
        .on_notice(on_notice);
    if project.settings.values.disable_all_hooks == Some(true) {
        return runner;
    }
    for event in HookEvent::ALL {
        let groups = project.settings.hooks.get(event.name()).into_iter().flatten();
        runner = runner.groups(event, groups.map(|sourced| sourced.group.clone()));
    }
    runner
}

/// Runs command hooks whose scripts still are what they were when the settings were read and trusted.
/// An agent that could change a script would decide what runs outside its sandbox.
struct UnchangedHooks {
    commands: CommandHooks,
    files: NamedFiles,
}

#[async_trait::async_trait]
impl HookExecutor for UnchangedHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        if let HookDefinition::Command(hook) = definition {
            let command = json!([hook.command, hook.args]);
            if let Err(changed) = self.files.check_unchanged(&command) {
                return HookExit::failed(format!(
                    "{} was changed since this session started; review it with `robota trust` and \
                     start again",
                    changed.display()
                ));
            }
        }
        self.commands.execute(definition, payload, timeout).await
    }
}
