//! Builds the hook runner of a session from the settings.

use std::sync::Arc;

use robota_core::hook::{HookContext, HookEvent, HookKind, HookNotice, HookRunner};
use robota_core::ids::SessionId;
use robota_exec::{CommandHooks, Environment, Supervisor};
use robota_session::RuleCondition;

use crate::output;
use crate::setup::{self, Setup};

/// Returns the hook runner of a session. Only command hooks have an executor here; a hook of another
/// kind denies where hooks decide.
pub(crate) fn runner(
    setup: &Setup,
    session: &SessionId,
    supervisor: &Supervisor,
    environment: &Environment,
) -> HookRunner {
    let cwd = &setup.places.cwd;
    let mut context = HookContext::new(session.as_str(), cwd.display().to_string());
    context.permission_mode = Some(setup.settings.permissions.mode);
    let commands =
        CommandHooks::new(supervisor.clone(), cwd, session.as_str(), environment.clone());
    let mut runner = HookRunner::new(context)
        .executor(HookKind::Command, Arc::new(commands))
        .condition(Arc::new(RuleCondition::new(setup.workspace(), setup::paths())))
        .on_notice(|notice| print_notice(&notice));
    if setup.settings.values.disable_all_hooks == Some(true) {
        return runner;
    }
    for event in HookEvent::ALL {
        let groups = setup.settings.hooks.get(event.name()).into_iter().flatten();
        runner = runner.groups(event, groups.map(|sourced| sourced.group.clone()));
    }
    for problem in runner.problems() {
        output::error(&problem.to_string());
    }
    runner
}

fn print_notice(notice: &HookNotice) {
    output::note(&format!("robota: {} hook: {}", notice.event.name(), notice.text));
}
