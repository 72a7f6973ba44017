//! The process of an agent (`robota __agent`). Its parent writes what it needs to the standard input:
//! settings, model, store and credentials are never arguments and never variables of the process.

use std::collections::BTreeMap;
use std::io::BufRead as _;

use anyhow::Context as _;
use robota_config::SettingSource;
use robota_core::permission::Mode;
use robota_core::sandbox::SandboxLevel;
use robota_core::task::{TaskError, TaskErrorCategory};
use robota_runtime::{AgentOutput, FromAgent, ToAgent};
use robota_sdk::{AgentProcess, AgentProgram, AgentStart};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::args::{Durability, NativeWebArg, PrintArgs, SettingsArgs};
use crate::headless::RunOptions;
use crate::provider::{self, ProviderRequest, WantedModel};
use crate::setup::{self, Setup};
use crate::{Exit, hint, output, signals};

/// The argument that starts this program as the process of an agent.
pub(crate) const AGENT: &str = "__agent";

/// What the process reads to have the settings, the model and the store of its parent.
#[derive(Serialize, Deserialize)]
struct ProcessSetup {
    options: ProcessOptions,
    /// The variables that settings and credentials come from.
    environment: BTreeMap<String, String>,
}

/// The options of the command that opened the session, as far as they concern its agents.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ProcessOptions {
    pub(crate) settings: SettingsArgs,
    pub(crate) mode: Option<Mode>,
    pub(crate) sandbox: Option<SandboxLevel>,
    pub(crate) sources: Option<Vec<SettingSource>>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) retry_budget: Option<u64>,
    /// The web tools of the model service: search, fetch.
    pub(crate) native_web: (bool, bool),
    /// Beta features of the model service.
    #[serde(default)]
    pub(crate) betas: Vec<String>,
    pub(crate) store: Option<String>,
    pub(crate) durability: Durability,
}

/// Returns this program as the one that runs agents in processes of their own, with these options; none
/// if another process cannot be started.
pub(crate) fn program(options: ProcessOptions, setup: &Setup) -> Option<AgentProgram> {
    let variables = setup.environment.iter();
    let process = ProcessSetup {
        options,
        environment: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    };
    Some(AgentProgram {
        program: std::env::current_exe().ok()?,
        args: vec![AGENT.into()],
        // Arguments name files relative to it.
        #[expect(clippy::disallowed_methods, reason = "the child resolves the same arguments")]
        cwd: std::env::current_dir().ok(),
        setup: serde_json::to_value(process).ok()?,
    })
}

impl ProcessOptions {
    /// Returns the options of a run; none if its session is not stored, so that another process cannot
    /// open the store.
    pub(crate) fn of_run(args: &PrintArgs, options: &RunOptions) -> Option<Self> {
        (!args.session.no_session_persistence).then(|| Self {
            settings: args.settings.clone(),
            mode: options.mode,
            sandbox: args.sandbox.map(SandboxLevel::from),
            sources: options.sources.clone(),
            provider: args.provider.clone(),
            model: args.model.clone(),
            retry_budget: args.retry_budget,
            native_web: (
                args.native_web.contains(&NativeWebArg::Search),
                args.native_web.contains(&NativeWebArg::Fetch),
            ),
            betas: args.betas.clone(),
            store: args.session.store.clone(),
            durability: args.session.durability,
        })
    }
}

/// Runs the process of an agent until its input ends.
pub(crate) async fn run() -> anyhow::Result<Exit> {
    let (send, mut lines) = mpsc::unbounded_channel();
    read_lines(send.clone());
    let cancel = signals::cancel_on_interrupt()?;
    let terminated = cancel.token().clone();
    drop(tokio::spawn(async move {
        terminated.cancelled().await;
        // Fails only if the process ends already.
        // A close and not an exit: the agent's session then ends its commands and its journal in
        // order.
        let _ = send.send(ToAgent::Close { reason: "the process was terminated".to_owned() });
    }));
    let Some(ToAgent::Start { start }) = lines.recv().await else {
        anyhow::bail!("this command is for `robota` itself: it runs an agent of a session");
    };
    let start: AgentStart = serde_json::from_value(start).context("the start is not readable")?;
    let out = AgentOutput::new(output::bytes);
    match prepare(start).await {
        Ok(process) => Box::pin(process.serve(lines, out)).await,
        Err(error) => {
            let mut text = format!("{error:#}");
            if let Some(hint) = hint(&error) {
                text.push_str(&format!("; {hint}"));
            }
            let error = TaskError::new(TaskErrorCategory::Start, text);
            out.send(&FromAgent::Failed { error });
        }
    }
    Ok(cancel.exit().unwrap_or(Exit::Ok))
}

async fn prepare(start: AgentStart) -> anyhow::Result<AgentProcess> {
    let setup: ProcessSetup = serde_json::from_value(start.setup.clone())?;
    let (given, environment) = (setup.options, setup.environment.into_iter().collect());
    let setup =
        Setup::load_with(&given.settings, given.mode, given.sandbox, (given.sources, environment))?
            .with_betas(&given.betas);
    let request = ProviderRequest {
        provider: given.provider.as_deref(),
        model: WantedModel::Flag(given.model.as_deref()),
    };
    let mut chosen = provider::choose(request, &setup).await?;
    if let Some(seconds) = given.retry_budget {
        chosen.calls.retry_budget = Some(std::time::Duration::from_secs(seconds));
    }
    // Added to the settings: a web tool that they turn on stays on, as in the process of the
    // parent.
    chosen.calls.native_web.search |= given.native_web.0;
    chosen.calls.native_web.fetch |= given.native_web.1;
    let store = setup::open_store(given.store.as_deref(), given.durability.into(), &setup).await?;
    let model = chosen.into_setup(None);
    let process = AgentProcess::new(start, setup.project.clone(), model, store, setup::reaper());
    process.await.map_err(setup::usage)
}

/// Reads the lines of the parent. The end of the input means that the parent has ended.
fn read_lines(send: mpsc::UnboundedSender<ToAgent>) {
    // A thread, because a read of standard input cannot be cancelled and would keep the runtime
    // from ending.
    std::thread::spawn(move || {
        let input = std::io::stdin().lock();
        for line in input.split(b'\n') {
            let Ok(line) = line else { break };
            if let Ok(line) = serde_json::from_slice(&line)
                && send.send(line).is_err()
            {
                return;
            }
        }
        let _ = send.send(ToAgent::parent_ended());
    });
}
