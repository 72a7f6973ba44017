//! Builds sessions from providers, tools, policy and sandbox. This is the only place that does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use robota_config::Settings;
use robota_core::checkpoint::CrashCleanup;
use robota_core::env_ref::Secret;
use robota_core::hook::Hooks;
use robota_core::ids::CallId;
use robota_core::permission::{Class, Mode};
use robota_core::redact::Redactor;
use robota_core::sandbox::SandboxLevel;
use robota_core::tool::{Tool, ToolScope};
use robota_core::turn::AtLimit;
use robota_exec::{Environment, ReaperProgram, RecordedExit, Supervisor, reaper};
use robota_policy::Policy;
use robota_session::{Approvals, Callbacks, PolicyGate, RecoveryHint, Session, SessionBuilder};
use robota_tools::{
    Brave, LocalCrashCleanup, PolicyAccessCheck, QuestionHandler, Searcher, Searxng, ToolWorkspace,
};

use crate::provider::ChosenProvider;
use crate::sandbox::Fences;
use crate::{Usage, setup};

/// The argument that starts this program as a reaper.
pub(crate) const REAPER: &str = "__reaper";

/// The parts of a session.
pub(crate) struct Parts {
    /// The provider and model.
    pub(crate) chosen: ChosenProvider,
    /// Removes secrets from everything that is recorded or sent to the model.
    pub(crate) redactor: Redactor,
    /// The working folder.
    pub(crate) cwd: PathBuf,
    /// The display name of the session.
    pub(crate) name: Option<String>,
    /// The permission mode the session starts in.
    pub(crate) mode: Mode,
    /// The permission rules.
    pub(crate) policy: Policy,
    /// What commands run in.
    pub(crate) fences: Fences,
    /// The web search service; none disables the WebSearch tool.
    pub(crate) searcher: Option<Arc<dyn Searcher>>,
    /// Hooks: those of the settings, and others that run after them.
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    /// Owns every child process.
    pub(crate) supervisor: Supervisor,
    /// The environment variables of commands.
    pub(crate) environment: Environment,
    /// Who decides on calls that need approval.
    pub(crate) approvals: Approvals,
    /// Cleans up after a crashed run when the session is resumed.
    pub(crate) crash_cleanup: Arc<dyn CrashCleanup>,
    /// The maximum number of rounds of a turn; zero means no limit. The turn then ends.
    pub(crate) max_rounds: u32,
    /// The system prompt.
    pub(crate) system: String,
    /// The tools to offer.
    pub(crate) tools: ToolChoice,
    /// How hard the model thinks; none leaves it to the provider.
    pub(crate) effort: Option<String>,
    /// Functions that are called for the events of the session.
    pub(crate) callbacks: Callbacks,
}

/// The tools that a session offers.
#[derive(Clone, Default)]
pub(crate) struct ToolChoice {
    /// The names of the built-in tools to offer; none offers all.
    pub(crate) only: Option<Vec<String>>,
    /// Tools besides the built-in ones.
    pub(crate) more: Vec<Arc<dyn Tool>>,
    /// Asks the user; without it the tool AskUserQuestion is not offered.
    pub(crate) questions: Option<Arc<dyn QuestionHandler>>,
    /// Receives the names of the offered tools when the session is built.
    pub(crate) offered: Arc<OnceLock<Vec<String>>>,
}

impl ToolChoice {
    /// Removes tools that are not offered, adds the others, and notes the names.
    fn apply(&self, tools: &mut Vec<Arc<dyn Tool>>) {
        tools.retain(|tool| {
            let name = tool.spec().name.as_str();
            (name != ASK_USER || self.questions.is_some())
                && self.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == name))
        });
        tools.extend(self.more.iter().cloned());
        let names = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        // A fork of the session has the same tools.
        let _ = self.offered.set(names);
    }
}

/// The tool that asks the user.
const ASK_USER: &str = "AskUserQuestion";

/// Returns a builder for a session of these parts.
pub(crate) fn session(parts: Parts) -> SessionBuilder {
    let policy = Arc::new(parts.policy.clone());
    let mut place = ToolWorkspace::new(&parts.cwd, parts.supervisor, parts.environment)
        .access_check(Arc::new(PolicyAccessCheck::new(policy, setup::paths())))
        .follow_cd();
    let mut read_only = false;
    if let Some(fence) = parts.fences.read_only {
        place = place.read_only_fence(fence);
    }
    if let Some(confinement) = parts.fences.confinement {
        read_only = confinement.boundaries().fence.level == SandboxLevel::ReadOnly;
        place = place.confine(confinement);
    }
    if let Some(searcher) = parts.searcher {
        place = place.searcher(searcher);
    }
    if let Some(questions) = &parts.tools.questions {
        place = place.question_handler(questions.clone());
    }
    let choice = parts.tools;
    let tools = move |session: &ToolScope| {
        let mut tools = robota_tools::tools(&place.for_session(session.blobs.clone()));
        // In a read-only sandbox commands cannot change files; the file tools, which run outside
        // of it, must not do it for the model.
        tools.retain(|tool| !read_only || tool.spec().class != Class::Modify);
        choice.apply(&mut tools);
        tools
    };
    let gate = PolicyGate::new(parts.policy, setup::paths());
    let mut builder = Session::builder(parts.chosen.provider, parts.chosen.model)
        .system(parts.system)
        .cwd(parts.cwd.display().to_string())
        .mode(parts.mode)
        .gate(Arc::new(gate))
        .tool_factory(Arc::new(tools))
        .approvals(parts.approvals)
        .idle_timeout(parts.chosen.timeout)
        .max_rounds(parts.max_rounds)
        .crash_cleanup(parts.crash_cleanup)
        .callbacks(parts.callbacks)
        .configure(|config| {
            parts.chosen.calls.apply(config);
            config.redactor = parts.redactor;
            config.turn.at_limit = AtLimit::Stop;
            if let Some(effort) = parts.effort {
                config.options.insert("effort".to_owned(), effort.into());
            }
        });
    if let Some(name) = parts.name {
        builder = builder.name(name);
    }
    parts.hooks.into_iter().fold(builder, SessionBuilder::hooks)
}

/// Returns the supervisor that owns all child processes. On Linux it has a reaper, a process that
/// ends them if this program crashes and records their exits in the project's `.robota/reaper`.
pub(crate) fn supervisor(cwd: &Path) -> Supervisor {
    let own = std::env::current_exe();
    match own {
        Ok(program) if cfg!(target_os = "linux") => Supervisor::with_reaper(
            ReaperProgram::new(program).args([REAPER]).records(reaper_records(cwd)),
        ),
        _ => Supervisor::new(),
    }
}

fn reaper_records(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("reaper")
}

/// Returns the web search service: SearXNG at `SEARXNG_URL`, else Brave with `BRAVE_API_KEY`.
pub(crate) fn searcher(environment: &robota_config::Environment) -> Option<Arc<dyn Searcher>> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    match (set("SEARXNG_URL"), set("BRAVE_API_KEY")) {
        (Some(base), _) => Some(Arc::new(Searxng::new(base))),
        (None, Some(key)) => Some(Arc::new(Brave::new(key))),
        (None, None) => None,
    }
}

/// Returns what cleans up after a crashed run: it ends its processes and settles its files.
pub(crate) fn crash_cleanup(cwd: &Path) -> Arc<LocalCrashCleanup> {
    Arc::new(LocalCrashCleanup::new().records(reaper_records(cwd)))
}

/// Returns what the reaper recorded of calls that ran when an earlier run crashed, and ends
/// processes of them that still run.
pub(crate) fn recovery_hints(cwd: &Path) -> Vec<RecoveryHint> {
    let records = reaper::read_records(&reaper_records(cwd)).unwrap_or_default();
    records
        .into_iter()
        .map(|record| {
            if record.exit.is_none() {
                let _ = reaper::kill_leftover(&record.process());
            }
            let exit = record.exit.map(|exit| match exit {
                RecordedExit::Code(code) => code,
                RecordedExit::Signal(signal) => 128 + signal,
            });
            RecoveryHint { exit, ..RecoveryHint::of(CallId::from(record.call)) }
        })
        .collect()
}

/// Returns the canonical path of the working folder: the given one, or the current one.
pub(crate) fn working_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let dir = match given {
        Some(dir) => dir.to_owned(),
        #[expect(clippy::disallowed_methods, reason = "the program starts somewhere")]
        None => std::env::current_dir().context("the current folder does not exist any more")?,
    };
    let dir = dir
        .canonicalize()
        .map_err(|error| Usage(format!("cannot open the folder {}: {error}", dir.display())))?;
    anyhow::ensure!(dir.is_dir(), "cannot open the folder {}: it is a file", dir.display());
    Ok(dir)
}

/// Returns the environment of commands and hooks: that of this program, overridden by the `env`
/// settings (an empty value removes a variable). Secrets are left out unless a setting names them:
/// `passEnv`, or `env` for one that is not the key of a provider.
pub(crate) fn environment(settings: &Settings, keys: &[Secret]) -> Environment {
    let set = &settings.values.env;
    let mut all = own_environment();
    for (name, value) in set {
        all.set(name, value);
    }
    let removed =
        |name: &OsStr| set.iter().any(|(set, value)| value.is_empty() && name == set.as_str());
    let all = all.iter().filter(|(name, _)| !removed(name));
    let all: Environment = all.collect();
    let is_key = |value: &OsStr| keys.iter().any(|key| value == key.expose());
    let used = all.iter().filter(|(_, value)| is_key(value)).map(|(name, _)| name);
    let mut secrets: Vec<_> = used.map(|name| name.to_string_lossy().into_owned()).collect();
    secrets.extend(settings.key_variables());
    let mut pass = settings.values.pass_env.clone().unwrap_or_default();
    pass.extend(set.keys().filter(|name| !secrets.contains(name)).cloned());
    all.without_secrets(&secrets, &pass)
}

/// Returns the environment of this program.
#[expect(clippy::disallowed_methods, reason = "the program passes on its own environment")]
pub(crate) fn own_environment() -> Environment {
    std::env::vars_os().collect()
}

/// The first line of the system prompt; also all of it if the user sets an empty one.
const IDENTITY: &str = "You are a coding agent in a terminal.";

/// Returns the system prompt: the given one or the default, then the text to add. The default has
/// facts only: the descriptions of the tools say when to use them.
pub(crate) fn system_prompt(cwd: &Path, given: Option<&str>, more: Option<&str>) -> String {
    let mut prompt = match given {
        None => format!("{IDENTITY}\nWorking directory: {}", cwd.display()),
        Some("") => IDENTITY.to_owned(),
        Some(given) => given.to_owned(),
    };
    if let Some(more) = more.filter(|more| !more.is_empty()) {
        prompt.push_str("\n\n");
        prompt.push_str(more);
    }
    prompt
}
