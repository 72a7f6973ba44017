//! Runs the hooks of the host (`hook_callback`). `initialize` registers them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use robota_core::hook::{
    CommandHook, HookCommon, HookContext, HookDefinition, HookEnd, HookEvent, HookExecutor,
    HookExit, HookGroup, HookKind, HookRunner,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::control::HostRequest;
use super::host::{Host, HostError};
use crate::output;
use crate::setup::print_hook_notice;

/// The hooks of the host, by event.
pub(crate) type HostHooks = BTreeMap<String, Option<Vec<HostMatcher>>>;

/// Callbacks that share a matcher.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostMatcher {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(default)]
    hook_callback_ids: Vec<String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    on_failure: Option<String>,
}

/// Checks the hooks of the host. Hooks at events that do not exist here never run.
///
/// # Errors
/// When such a hook is to block on failure: the host relies on it.
pub(crate) fn check(hooks: &HostHooks) -> Result<(), String> {
    for (name, matchers) in hooks {
        if event(name).is_some() {
            continue;
        }
        let blocks = |matcher: &HostMatcher| {
            matcher.on_failure.as_deref().is_some_and(|value| value != "continue")
        };
        if matchers.iter().flatten().any(blocks) {
            return Err(format!(
                "the hook event {name} does not exist here, so its hook with onFailure `block` \
                 would never run"
            ));
        }
        output::note(&format!(
            "robota: the hook event {name} does not exist here; its hooks never run"
        ));
    }
    Ok(())
}

/// Returns a runner for the hooks of the host.
pub(crate) fn runner(hooks: &HostHooks, context: HookContext, host: Arc<Host>) -> HookRunner {
    let mut runner = HookRunner::new(context)
        .executor(HookKind::Command, Arc::new(CallbackExecutor(host)))
        .on_notice(|notice| print_hook_notice(&notice));
    for (name, matchers) in hooks {
        let Some(event) = event(name) else { continue };
        let groups = matchers.iter().flatten().map(group);
        runner = runner.groups(event, groups);
    }
    for problem in runner.problems() {
        output::error(&problem.to_string());
    }
    runner
}

fn event(name: &str) -> Option<HookEvent> {
    HookEvent::ALL.into_iter().find(|event| event.name() == name)
}

/// A callback is a command hook whose command is the id of the callback.
fn group(matcher: &HostMatcher) -> HookGroup {
    let mut other = Map::new();
    if let Some(on_failure) = &matcher.on_failure
        && on_failure != "continue"
    {
        other.insert("onFailure".to_owned(), Value::from("block"));
    }
    let common = HookCommon { timeout: matcher.timeout, other, ..HookCommon::default() };
    let hook = |id: &String| {
        HookDefinition::Command(CommandHook {
            command: id.clone(),
            args: None,
            detached: None,
            shell: None,
            common: common.clone(),
        })
    };
    HookGroup {
        matcher: matcher.matcher.clone(),
        hooks: matcher.hook_callback_ids.iter().map(hook).collect(),
    }
}

/// Asks the host to run a callback.
struct CallbackExecutor(Arc<Host>);

#[async_trait::async_trait]
impl HookExecutor for CallbackExecutor {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::Command(hook) = definition else {
            return HookExit::failed("it is not a callback");
        };
        let input: Value = match serde_json::from_str(payload) {
            Ok(input) => input,
            Err(error) => return HookExit::failed(format!("its input is not JSON: {error}")),
        };
        let request = HostRequest::HookCallback {
            callback_id: &hook.command,
            input: &input,
            tool_use_id: input.get("tool_use_id").and_then(Value::as_str),
        };
        match self.0.ask(request, timeout).await {
            // A host that answers with `async` decides nothing.
            Ok(output) if output.get("async") == Some(&Value::Bool(true)) => {
                HookExit::code(0, "", "")
            }
            Ok(output @ Value::Object(_)) => HookExit::code(0, output.to_string(), ""),
            Ok(Value::Null) => HookExit::code(0, "", ""),
            Ok(_) => HookExit::failed("the host's answer is not an object"),
            Err(HostError::TimedOut(_)) => HookExit::silent(HookEnd::TimedOut),
            Err(error @ (HostError::Gone | HostError::Refused(_))) => {
                HookExit::failed(error.to_string())
            }
        }
    }
}
