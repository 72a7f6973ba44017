//! Builds the hook runner of a session from the settings.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_config::NamedFiles;
use robota_core::gate::Gate;
use robota_core::hook::{
    HookContext, HookDefinition, HookEffort, HookEvent, HookExecutor, HookExit, HookKind,
    HookNotice, HookObserver, HookRunner, HookTranscript,
};
use robota_core::ids::SessionId;
use robota_core::permission::Mode;
use robota_core::redact::Redactor;
use robota_core::tool::Tool;
use robota_exec::{CommandHooks, Environment, SessionVariables, Supervisor};
use robota_mcp::client::McpServers;
use robota_session::RuleCondition;
use robota_tools::web::Proxies;
use serde_json::json;

use crate::hooks::{
    AgentHooks, HttpHooks, McpToolHooks, OnHookUsage, PromptHooks, ReadOnlyHookAgent, UrlPattern,
};
use crate::model_setup::ModelSetup;
use crate::notice::Notice;
use crate::project::{self, Project};

/// What the hooks of a session use.
pub(crate) struct HookParts<'a> {
    pub(crate) project: &'a Project,
    pub(crate) session: &'a SessionId,
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) environment: &'a Environment,
    /// The model of prompt and agent hooks.
    pub(crate) model: &'a ModelSetup,
    /// The tools of agent hooks, of which they get the read-only ones.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Judges the calls of agent hooks.
    pub(crate) gate: Arc<dyn Gate>,
    /// Removes secrets from what agent hooks read.
    pub(crate) redactor: Redactor,
    /// The permission mode that the session starts in.
    pub(crate) mode: Mode,
    /// How hard the model of the session thinks.
    pub(crate) effort: Option<String>,
    /// The variables that hooks set for the commands of the session.
    pub(crate) variables: SessionVariables,
    /// The transcript that hooks can read.
    pub(crate) transcript: Arc<dyn HookTranscript>,
    /// Observes each run of a hook.
    pub(crate) observer: Option<Arc<dyn HookObserver>>,
    /// Receives the tokens of prompt and agent hooks.
    pub(crate) on_usage: OnHookUsage,
    /// The scripts that hooks run.
    pub(crate) files: HookFiles,
    /// The MCP servers whose tools hooks call.
    pub(crate) servers: Vec<McpServers>,
}

/// Returns the hook runner of a session. Problems of the settings are added to `notices`.
pub(crate) fn runner(
    parts: HookParts<'_>,
    on_notice: impl Fn(HookNotice) + Send + Sync + 'static,
    notices: &mut Vec<Notice>,
) -> HookRunner {
    let HookParts { project, session, supervisor, environment, model, .. } = parts;
    let cwd = &project.places.cwd;
    let mut context = HookContext::new(session.as_str(), cwd.display().to_string());
    context.permission_mode = Some(parts.mode);
    context.effort = parts.effort.map(|level| HookEffort { level });
    let commands =
        CommandHooks::new(supervisor.clone(), cwd, session.as_str(), environment.clone())
            .session_variables(parts.variables);
    let commands = UnchangedHooks { commands, files: parts.files };
    let agent = ReadOnlyHookAgent::new(model.provider.clone(), model.model.clone(), parts.tools)
        .gate(parts.gate)
        .redactor(parts.redactor)
        .available_models(project.settings.available_models.clone())
        .on_usage(parts.on_usage.clone());
    let prompts = PromptHooks::new(model.provider.clone(), model.model.clone())
        .available_models(project.settings.available_models.clone());
    let mcp_tools = McpToolHooks::new(parts.servers);
    let mut runner = HookRunner::new(context)
        .transcript(parts.transcript)
        .paths(project::paths())
        .executor(HookKind::Command, Arc::new(commands))
        .executor(HookKind::Http, Arc::new(http(project, environment, notices)))
        .executor(HookKind::Prompt, Arc::new(prompts.on_usage(parts.on_usage)))
        .executor(HookKind::Agent, Arc::new(AgentHooks::new(Arc::new(agent))))
        .executor(HookKind::McpTool, Arc::new(mcp_tools.policy(project.policy.clone())))
        .session_end_timeout(session_end_timeout(&project.environment))
        .condition(Arc::new(RuleCondition::new(project.workspace(), project::paths())))
        .on_notice(on_notice);
    if let Some(observer) = parts.observer {
        runner = runner.observer(observer);
    }
    if project.settings.values.disable_all_hooks == Some(true) {
        // With its executors: hooks that a skill adds later are refused by the same setting.
        return runner;
    }
    for event in HookEvent::ALL {
        let groups = project.settings.hooks.get(event.name()).into_iter().flatten();
        runner = runner.groups(event, groups.map(|sourced| sourced.group.clone()));
    }
    let plugins = project.plugins.active().filter(|_| !project.settings.managed_hooks_only);
    for plugin in plugins {
        let (hooks, mut problems) = plugin.hooks();
        if !hooks.is_empty() {
            problems.extend(plugin.create_data().err().map(|it| format!("its data folder: {it}")));
        }
        for (event, groups) in hooks {
            // A copy in a plugin is a hook of its own, as in a skill.
            let owner = format!("the plugin `{}`", plugin.manifest.name);
            runner = runner.skill_groups(&owner, event, groups);
        }
        let name = &plugin.manifest.name;
        notices
            .extend(problems.iter().map(|it| Notice::Error(format!("the plugin `{name}`: {it}"))));
    }
    notices.extend(runner.problems().iter().map(|problem| Notice::Error(problem.to_string())));
    runner
}

/// Returns the executor of HTTP hooks. A pattern that is not valid allows nothing.
/// The variable with the milliseconds that hooks have at the end of a session.
const SESSION_END_VARIABLE: &str = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS";

/// Returns how long hooks may run at the end of a session, if the environment says it.
#[must_use]
pub fn session_end_timeout(environment: &robota_config::ProgramEnvironment) -> Option<Duration> {
    let milliseconds = environment.get(SESSION_END_VARIABLE)?.trim().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

fn http(project: &Project, environment: &Environment, notices: &mut Vec<Notice>) -> HttpHooks {
    let settings = &project.settings.values;
    let urls = settings.allowed_http_hook_urls.as_ref().map(|patterns| {
        let parsed = patterns.iter().filter_map(|pattern| match UrlPattern::parse(pattern) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                notices.push(Notice::Error(format!("allowedHttpHookUrls: {error}")));
                None
            }
        });
        parsed.collect()
    });
    // Those of the user, not of commands, whose secrets were removed.
    let variables = project.environment.clone();
    HttpHooks::new(Proxies::of(environment))
        .allowed_urls(urls)
        .allowed_variables(settings.http_hook_allowed_env_vars.clone())
        .variables(move |name| variables.get(name).map(str::to_owned))
}

/// Runs command hooks whose scripts still are what they were when the settings were read and trusted.
/// An agent that could change a script would decide what runs outside its sandbox.
struct UnchangedHooks {
    commands: CommandHooks,
    files: HookFiles,
}

/// The scripts that hooks run, as they were when the hooks were read. Skills add theirs.
pub(crate) type HookFiles = Arc<Mutex<NamedFiles>>;

#[async_trait::async_trait]
impl HookExecutor for UnchangedHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        // Only these run scripts of the folder.
        if let HookDefinition::Command(hook) = definition {
            let command = json!([hook.command, hook.args]);
            let files = self.files.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Err(changed) = files.check_unchanged(&command) {
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
