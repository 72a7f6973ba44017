//! The user's hooks, from settings to the driver.

use std::sync::Arc;

use robota_core::hook::{HookContext, HookEvent, HookKind, HookNotice, HookRunner};
use robota_core::ids::SessionId;
use robota_exec::{CommandHooks, Environment, Supervisor};
use robota_session::RuleCondition;

use crate::output;
use crate::setup::{self, Setup};

/// The hooks of a session. Kinds without an executor refuse where hooks decide.
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
        .on_notice(|notice| tell(&notice));
    if setup.settings.values.disable_all_hooks == Some(true) {
        return runner;
    }
    for event in HookEvent::ALL {
        let groups = setup.settings.hooks.get(event.name()).into_iter().flatten();
        runner = runner.groups(event, groups.map(|sourced| sourced.group.clone()));
    }
    for problem in runner.problems() {
        output::complain(&problem.to_string());
    }
    runner
}

fn tell(notice: &HookNotice) {
    output::note(&format!("robota: {}: {}", notice.event.name(), notice.text));
}
