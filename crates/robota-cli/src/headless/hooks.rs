//! Runs the hooks of the host (`hook_callback`). `initialize` registers them.

mod translate;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use robota_core::hook::{
    CommandHook, HookCommon, HookContext, HookDefinition, HookEnd, HookEvent, HookExecutor,
    HookExit, HookGroup, HookKind, HookRunner,
};
use robota_exec::OsPaths;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::host::{Host, HostError};
use super::mcp::CallIds;
use crate::output;
use crate::setup::print_hook_notice;
use robota_stream_json::HostRequest;

/// How long a callback may take, if the host does not say it. Hosts expect this default, whatever the
/// default of commands is.
pub(crate) const CALLBACK_TIMEOUT: Duration = Duration::from_secs(60);

/// The hooks of the host as it sends them, by the name of the event.
pub(crate) type HooksInput = BTreeMap<String, Option<Vec<HostMatcher>>>;

/// The hooks of the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostHooks {
    known: Vec<(HookEvent, Vec<HostMatcher>)>,
    /// The events that do not exist here: their hooks never run.
    pub(crate) unknown: Vec<String>,
}

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

impl HostHooks {
    /// Reads the hooks of the host. Events that do not exist here are reported.
    ///
    /// # Errors
    /// When a hook at such an event is to block on failure: the host relies on it.
    pub(crate) fn read(input: HooksInput) -> Result<Self, String> {
        let mut hooks = Self::default();
        for (name, matchers) in input {
            let matchers = matchers.unwrap_or_default();
            match name.parse::<HookEvent>().ok() {
                Some(event) => hooks.known.push((event, matchers)),
                None if matchers.iter().any(HostMatcher::blocks_on_failure) => {
                    return Err(format!(
                        "the hook event {name} does not exist here, so its hook with onFailure \
                         `block` would never run"
                    ));
                }
                None => {
                    output::note(&format!(
                        "robota: the hook event {name} does not exist here; its hooks never run"
                    ));
                    hooks.unknown.push(name);
                }
            }
        }
        Ok(hooks)
    }

    /// Returns whether any hook can run.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.iter().all(|(_, matchers)| matchers.is_empty())
    }

    /// Returns the hooks with their events.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (HookEvent, HookGroup)> + '_ {
        let of = |(event, matchers): &(HookEvent, Vec<HostMatcher>)| {
            let event = *event;
            matchers.iter().map(move |matcher| (event, group(matcher))).collect::<Vec<_>>()
        };
        self.known.iter().flat_map(of)
    }

    /// Returns a runner for the hooks.
    pub(crate) fn runner(
        &self,
        context: HookContext,
        host: Arc<Host>,
        calls: Arc<CallIds>,
    ) -> HookRunner {
        let mut runner = HookRunner::new(context)
            .timeout(CALLBACK_TIMEOUT)
            .executor(HookKind::Command, Arc::new(CallbackExecutor { host, calls }))
            .paths(Arc::new(OsPaths))
            .on_notice(|notice| print_hook_notice(&notice));
        for (event, matchers) in &self.known {
            runner = runner.groups(*event, matchers.iter().map(group));
        }
        for problem in runner.problems() {
            output::error(&problem.to_string());
        }
        runner
    }
}

impl HostMatcher {
    fn blocks_on_failure(&self) -> bool {
        // A value of a newer host blocks too: it may be a stricter one.
        self.on_failure.as_deref().is_some_and(|value| value != "continue")
    }
}

/// Returns the hooks of a matcher. A callback is a command hook whose command is the id of the
/// callback.
fn group(matcher: &HostMatcher) -> HookGroup {
    let mut other = Map::new();
    if matcher.blocks_on_failure() {
        other.insert("onFailure".to_owned(), Value::from("block"));
    }
    let common = HookCommon { timeout: matcher.timeout, other, ..HookCommon::default() };
    let hook = |id: &String| {
        HookDefinition::Command(CommandHook {
            command: id.clone(),
            args: None,
            detached: None,
            shell: None,
            variables: Default::default(),
            common: common.clone(),
        })
    };
    HookGroup {
        matcher: matcher.matcher.clone(),
        hooks: matcher.hook_callback_ids.iter().map(hook).collect(),
    }
}

/// Asks the host to run a callback.
struct CallbackExecutor {
    host: Arc<Host>,
    calls: Arc<CallIds>,
}

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
        let input = translate::input(input);
        let tool_use_id = input.get("tool_use_id").and_then(Value::as_str);
        // The calls of agents have no place among the lines.
        if let (Some(call), None) = (tool_use_id, input.get("agent_id")) {
            self.calls.wait_until_printed(call).await;
        }
        let callback_id = &*hook.command;
        let request = HostRequest::HookCallback { callback_id, input: &input, tool_use_id };
        match self.host.ask(request, timeout).await {
            // A host that answers with `async` decides nothing.
            Ok(output) if output.get("async") == Some(&Value::Bool(true)) => {
                HookExit::code(0, "", "")
            }
            Ok(Value::Object(output)) => HookExit::code(0, Value::Object(output).to_string(), ""),
            // A callback that returns nothing decides nothing.
            Ok(Value::Null) => HookExit::code(0, "", ""),
            Ok(_) => HookExit::failed("the host's answer is not an object"),
            // Not a failure like the others: after a call, a timeout is a warning only.
            Err(HostError::TimedOut(_)) => HookExit::silent(HookEnd::TimedOut),
            Err(error @ (HostError::Gone | HostError::Refused(_) | HostError::TooLong(_))) => {
                HookExit::failed(error.to_string())
            }
        }
    }
}
