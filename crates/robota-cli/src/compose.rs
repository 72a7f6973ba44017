//! Composition: the one place where the parts become a program. It never grows a second.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use indexmap::IndexMap;
use robota_core::checkpoint::CrashCleanup;
use robota_core::hook::Hooks;
use robota_core::ids::CallId;
use robota_core::permission::{Class, Mode};
use robota_core::redact::Redactor;
use robota_core::sandbox::SandboxLevel;
use robota_core::tool::ToolScope;
use robota_exec::sandbox::Confinement;
use robota_exec::{Environment, ReaperProgram, RecordedExit, Supervisor, reaper};
use robota_policy::Policy;
use robota_session::{Approvals, PolicyGate, RecoveryHint, Session, SessionBuilder};
use robota_tools::{Brave, LocalCrashCleanup, PolicyAccessCheck, Searcher, Searxng, ToolWorkspace};

use crate::provider::Chosen;
use crate::{Usage, setup};

/// The argument by which the program is its own reaper.
pub(crate) const REAPER: &str = "__reaper";

/// What a session is made of.
pub(crate) struct Parts {
    /// Who answers.
    pub(crate) chosen: Chosen,
    /// Takes secrets out of what is said.
    pub(crate) redactor: Redactor,
    /// Where it works.
    pub(crate) cwd: PathBuf,
    /// What it is called.
    pub(crate) name: Option<String>,
    /// The permission mode.
    pub(crate) mode: Mode,
    /// The rules.
    pub(crate) policy: Policy,
    /// What commands are kept from.
    pub(crate) confinement: Option<Arc<Confinement>>,
    /// Who searches the web.
    pub(crate) searcher: Option<Arc<dyn Searcher>>,
    /// The user's hooks.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// Owns every child process.
    pub(crate) supervisor: Supervisor,
    /// What commands see of the environment.
    pub(crate) environment: Environment,
    /// Who is asked.
    pub(crate) approvals: Approvals,
    /// Who tidies up after a run that died.
    pub(crate) crash_cleanup: Arc<dyn CrashCleanup>,
    /// At most this many model calls; zero is no limit.
    pub(crate) max_rounds: u32,
}

/// Puts a session together.
pub(crate) fn session(parts: Parts) -> SessionBuilder {
    let policy = Arc::new(parts.policy.clone());
    let mut place = ToolWorkspace::new(&parts.cwd, parts.supervisor, parts.environment)
        .access_check(Arc::new(PolicyAccessCheck::new(policy, setup::paths())))
        .follow_cd();
    let mut read_only = false;
    if let Some(confinement) = parts.confinement {
        read_only = confinement.boundaries().fence.level == SandboxLevel::ReadOnly;
        place = place.confine(confinement);
    }
    if let Some(searcher) = parts.searcher {
        place = place.searcher(searcher);
    }
    let tools = move |session: &ToolScope| {
        let mut tools = robota_tools::tools(&place.for_session(session.blobs.clone()));
        // What commands may not do, tools do not do for the model either.
        tools.retain(|tool| !read_only || tool.spec().class != Class::Modify);
        tools
    };
    let gate = PolicyGate::new(parts.policy, setup::paths());
    let mut builder = Session::builder(parts.chosen.provider, parts.chosen.model)
        .system(system_prompt(&parts.cwd))
        .cwd(parts.cwd.display().to_string())
        .mode(parts.mode)
        .gate(Arc::new(gate))
        .tool_factory(Arc::new(tools))
        .approvals(parts.approvals)
        .idle_timeout(parts.chosen.timeout)
        .max_rounds(parts.max_rounds)
        .crash_cleanup(parts.crash_cleanup)
        .configure(|config| config.redactor = parts.redactor);
    if let Some(name) = parts.name {
        builder = builder.name(name);
    }
    if let Some(hooks) = parts.hooks {
        builder = builder.hooks(hooks);
    }
    builder
}

/// Owns every child process, with a reaper that outlives us. What it writes down about calls
/// whose end we did not live to see goes to the project's `.robota/reaper`.
pub(crate) fn supervisor(cwd: &Path) -> Supervisor {
    let own = std::env::current_exe();
    match own {
        Ok(program) if cfg!(target_os = "linux") => Supervisor::with_reaper(
            ReaperProgram::new(program).args([REAPER]).records(records(cwd)),
        ),
        _ => Supervisor::new(),
    }
}

fn records(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("reaper")
}

/// Who searches the web: the SearXNG that `SEARXNG_URL` names, or Brave with `BRAVE_API_KEY`.
pub(crate) fn searcher(environment: &robota_config::Environment) -> Option<Arc<dyn Searcher>> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    match (set("SEARXNG_URL"), set("BRAVE_API_KEY")) {
        (Some(base), _) => Some(Arc::new(Searxng::new(base))),
        (None, Some(key)) => Some(Arc::new(Brave::new(key))),
        (None, None) => None,
    }
}

/// Tidies up after a run that died.
pub(crate) fn crash_cleanup(cwd: &Path) -> Arc<LocalCrashCleanup> {
    Arc::new(LocalCrashCleanup::new().records(records(cwd)))
}

/// What is known of calls that ran when an earlier run died. What still lives of them is ended.
pub(crate) fn recovery_hints(cwd: &Path) -> Vec<RecoveryHint> {
    let records = reaper::read_records(&records(cwd)).unwrap_or_default();
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

/// The folder to work in, as the operating system knows it.
pub(crate) fn working_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let dir = match given {
        Some(dir) => dir.to_owned(),
        #[expect(clippy::disallowed_methods, reason = "the program starts somewhere")]
        None => std::env::current_dir().context("the current folder is gone")?,
    };
    let dir = dir
        .canonicalize()
        .map_err(|error| Usage(format!("cannot work in {}: {error}", dir.display())))?;
    anyhow::ensure!(dir.is_dir(), "cannot work in {}: it is not a folder", dir.display());
    Ok(dir)
}

/// What commands see of the environment: what the program sees, changed by the `env` settings,
/// where an empty value takes a variable out.
#[expect(clippy::disallowed_methods, reason = "the program hands its environment on, once")]
pub(crate) fn environment(settings: &IndexMap<String, String>) -> Environment {
    let kept = std::env::vars_os()
        .filter(|(name, _)| !settings.iter().any(|(set, _)| name.as_os_str() == set.as_str()));
    let set = settings.iter().filter(|(_, value)| !value.is_empty());
    let set = set.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    kept.chain(set).fold(Environment::new(), |env, (name, value)| env.with(name, value))
}

/// Neutral facts only: what to do and when stands in the tools' own descriptions.
fn system_prompt(cwd: &Path) -> String {
    format!("You are a coding agent in a terminal.\nWorking directory: {}", cwd.display())
}
