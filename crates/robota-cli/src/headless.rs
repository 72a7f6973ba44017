//! Headless runs: one prompt (`robota -p`), or a host that uses the stream-json protocol.
//!
//! `docs/headless.md` describes formats, flags and exit codes. Every run is the same: a session,
//! whose events [`project`] turns into lines and [`result`] into an outcome; [`drive`] sends
//! inputs, [`requests`] answers the host, and [`host`] asks it.

mod after_turn;
mod answer_stream;
mod background;
mod blocks;
mod choose;
mod compactions;
mod context_usage;
mod decisions;
mod describe;
mod drive;
mod fallback;
mod follow_up;
mod hook_approver;
mod hook_lines;
mod hook_listing;
mod hooks;
mod host;
mod host_files;
mod input;
mod lenient;
mod line_room;
mod loaded;
mod mcp;
mod mcp_requests;
mod meter;
mod mode;
mod model_change;
mod model_watch;
mod open;
mod options;
mod permissions;
mod project;
mod queries;
mod requests;
mod result;
mod rewind;
mod running_command;
mod saved_rules;
mod send;
mod sent;
mod settings_requests;
mod slash;
mod structured;
mod text;
mod tool_approver;
mod tool_output;
mod tool_policies;
mod turn_record;
mod writer;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use robota_config::ModelNotAvailable;
use robota_config::model::OneOrMany;
use robota_core::hook::HookData;
use robota_core::ids::{Ids as _, RandomIds, SessionId};
use robota_core::provider::{Provider, check_native_web};
use robota_core::sandbox::SandboxLevel;
use robota_sdk::{SdkError, store};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::args::{OutputFormat, PrintArgs, SessionArgs};
use crate::provider::{self, ChosenProvider, NoProvider, ProviderRequest, WantedModel};
use crate::setup::{self, Setup};
use crate::telemetry::Telemetry;
use crate::{Configuration, Exit, Usage, commands, debug, output, signals, stdin};
pub(crate) use choose::session_choice;
use decisions::Decisions;
use drive::FirstInput;
pub(crate) use fallback::Fallback;
use hooks::HostHooks;
use host::Host;
use input::FromHost;
use mcp::CallIds;
use meter::Meter;
pub(crate) use mode::parse_mode;
use open::{Opening, open};
pub(crate) use options::RunOptions;
use permissions::HostApprover;
use project::Projection;
use requests::{HostSetup, Requests};
pub(crate) use requests::{has_price, no_price};
pub(crate) use saved_rules::SavedRules;
use writer::LineWriter;

/// The variable with which a host asks for lines that say whether a turn runs.
const STATES_VARIABLE: &str = "CLAUDE_CODE_SDK_READS_SESSION_STATE";

/// What a run without a prompt says.
const NO_PROMPT: &str = "Error: Input must be provided either through stdin or as a prompt argument \
    when using --print\nhint: robota -p \"PROMPT\"; options with several values, such as \
    --allowedTools, stand after the prompt";

/// Runs headless: answers the prompt, or the messages of the host. Sets `known` to the session once it
/// is chosen.
pub(crate) async fn run(args: PrintArgs, known: &OnceCell<SessionId>) -> anyhow::Result<Exit> {
    let options = Arc::new(RunOptions::from_args(&args)?);
    let prompt = if options.stream_input {
        None
    } else if args.init_only {
        // No turn runs, so standard input is not read.
        Some(String::new())
    } else {
        let prompt = stdin::prompt(options::prompt(&args))?;
        Some(prompt.ok_or_else(|| Usage(NO_PROMPT.to_owned()))?)
    };
    let level = args.sandbox.map(SandboxLevel::from);
    let mode = options.mode;
    let load = || {
        let setup = Setup::load_for(&args.settings, mode, level, options.sources.clone())?;
        anyhow::Ok(Arc::new(setup.with_betas(&args.betas)))
    };
    let mut setup = load()?;
    setup.report_problems();
    for argument in &options.mcp_config {
        robota_config::check_mcp_argument(&setup.places, argument)
            .map_err(|problem| Usage(format!("--mcp-config: {problem}")))?;
    }
    let cwd = setup.places.cwd.clone();
    store::check_project_folder(&cwd)?;
    let telemetry = Telemetry::start(&setup.environment);
    let log = debug::start(args.debug_log(), &cwd, &telemetry)?;
    log.iter().for_each(|log| output::note(&debug::note(log)));
    let request = ProviderRequest {
        provider: args.provider.as_deref(),
        model: WantedModel::Flag(args.model.as_deref()),
    };
    let mut first = provider::choose(request, &setup).await;
    // The first run of a user at a terminal.
    let can_ask = options.format == OutputFormat::Text && crate::prompt::is_interactive();
    if first.as_ref().is_err_and(|error| error.is::<NoProvider>())
        && can_ask
        && commands::setup::offer(args.settings.cwd.clone()).await
    {
        setup = load()?;
        first = provider::choose(request, &setup).await;
    }
    let mut chosen = first.map_err(Configuration::wrap)?;
    if let Some(note) = chosen.betas_note(&setup) {
        output::note(&format!("robota: {note}"));
    }
    chosen.calls = provider::calls::with_args(chosen.calls, &args);
    if !args.native_web.is_empty() {
        let web = chosen.calls.native_web;
        check_native_web(&chosen.provider.capabilities(), web)
            .map_err(|error| Configuration::wrap(error.into()))?;
    }
    let fallback = fallback(&args, &setup, &mut chosen).await?;
    // Its calls would count as free, so the budget would never be used up.
    if options.budget.is_some() && !has_price(&chosen.model) {
        return Err(Configuration::wrap(anyhow::anyhow!(no_price(&chosen.model))));
    }
    let sessions = &args.session;
    let store = setup::session_store(sessions, &setup).await?;
    let folder = cwd.display().to_string();
    let choice = session_choice(sessions, &*store, &folder).await?;
    let selected = choice.select(&*store, &folder).await;
    let selected = selected.map_err(|error| missing_session(error, sessions))?;
    let _ = known.set(selected.id().clone());
    let cancel = signals::cancel_on_interrupt()?;
    let states = setup.environment.get(STATES_VARIABLE) == Some("1");
    let writer =
        Arc::new(LineWriter::new(options.lines, selected.id().clone(), &RandomIds, states));
    if let Some(fallback) = &fallback {
        let (writer, is_text) = (writer.clone(), options.format == OutputFormat::Text);
        fallback.on_blocked(move |text| {
            if is_text {
                output::note(&format!("robota: {text}"));
            }
            Projection::warn(&writer, text);
        });
    }
    let gone = CancellationToken::new();
    let host = Arc::new(Host::new(writer.clone(), gone.clone()));
    let (send_command, commands) = mpsc::unbounded_channel();
    let run_mode = options.mode.unwrap_or(setup.settings.permissions.mode);
    let saved = Arc::new(SavedRules::new(setup.clone()));
    let decisions = Arc::new(Decisions::new(send_command, saved.clone(), run_mode));
    let call_ids: Arc<CallIds> = Arc::default();
    let approver = options.asks_host.then(|| {
        let (decisions, call_ids) = (decisions.clone(), call_ids.clone());
        Arc::new(HostApprover::new(host.clone(), options.host_timeout, decisions, call_ids))
    });
    let vendor = chosen.service.as_ref().map(|service| service.vendor.vendor.clone());
    let agents = options.agents.clone();
    let mut requests = Requests {
        host: host.clone(),
        writer: writer.clone(),
        agents,
        effort: args.effort.clone(),
        start_thinking: chosen.calls.thinking,
        thinking: chosen.calls.thinking,
        options: options.clone(),
        setup: setup.clone(),
        provider: args.provider.clone(),
        default_model: chosen.model.clone(),
        model: chosen.model.clone(),
        chosen: Some(chosen),
        api_key_source: api_key_source(vendor.as_deref(), &setup),
        vendor,
        mode: run_mode,
        meter: Arc::new(Meter::new(options.budget, fallback.as_ref().map(|it| it.served.clone()))),
        fallback,
        watch: Arc::default(),
        decisions,
        approver,
        saved,
        host_setup: HostSetup::default(),
        host_hooks: HostHooks::default(),
        hook_runners: Vec::new(),
        refused: None,
        interactive: None,
        call_ids,
        later: JoinSet::new(),
        changing: Arc::default(),
    };
    // Only now, because the requests wrap every provider of the run, also one that a host selects
    // later.
    if let Some(mut chosen) = requests.chosen.take() {
        chosen.provider = requests.wrap(chosen.provider);
        requests.chosen = Some(chosen);
    }
    let (first, from_host) = match prompt {
        Some(prompt) => (FirstInput::Prompt(prompt), None),
        None => {
            // Only with a host: `robota -p | less` waits for its reader as long as the reader
            // needs.
            writer.watch(options.host_timeout);
            let mut from_host = input::read(host.clone(), gone);
            // The session is opened after the first message: `initialize` and other requests before
            // it set what it is opened with.
            match first_message(&mut from_host, &mut requests, &cancel).await {
                Some(Ok(_)) if requests.refused.is_some() => {
                    anyhow::bail!(requests.refused.unwrap_or_default());
                }
                Some(Ok(first)) => (first, Some(from_host)),
                Some(Err(exit)) => return Ok(exit),
                None => return Ok(cancel.exit().unwrap_or(Exit::Ok)),
            }
        }
    };
    let opened = open(Opening {
        args: &args,
        options: &options,
        setup: &setup,
        store,
        selected,
        requests,
        writer: &writer,
        cancel: &cancel,
        commands,
        from_host,
    })
    .await?;
    let (session, since) = (opened.drive.session.clone(), opened.session.opened_at());
    let metrics = telemetry.count(&session, since).await?;
    let events = match options.format {
        OutputFormat::Events => Some(open::print_events(&session, since).await?),
        OutputFormat::Text | OutputFormat::Json | OutputFormat::StreamJson => None,
    };
    let mut drive = opened.drive;
    if let Some(trigger) = args.setup_trigger() {
        session.config().run_hooks(HookData::Setup { trigger }).await;
    }
    let exit = if args.init_only { Ok(Exit::Ok) } else { drive.run(first).await };
    let reason = if cancel.exit().is_some() { "interrupted" } else { "other" };
    // Listed before the shutdown, which ends these tasks.
    let mut stopped = drive.background.take_stopped();
    stopped.extend(drive.running_tasks());
    // The turn is recorded by now, so a store that fails here is reported but not an error of the
    // run.
    if let Err(error) = opened.session.shutdown(reason).await {
        output::error(&error.to_string());
    }
    drive.print_end();
    if !stopped.is_empty() {
        let text = format!("robota: stopped with the session: {}", stopped.join(", "));
        output::note(&text);
    }
    drop((drive, opened.session, session));
    // Both tasks end when the session ends.
    for task in [events, metrics].into_iter().flatten() {
        let _ = task.await;
    }
    // After the task that counts has seen the last event.
    telemetry.finish().await;
    exit
}

/// Answers requests of the host until its first message arrives. Returns none if none does.
async fn first_message(
    from_host: &mut mpsc::UnboundedReceiver<FromHost>,
    requests: &mut Requests,
    cancel: &signals::Cancel,
) -> Option<Result<FirstInput, Exit>> {
    loop {
        let next = tokio::select! {
            () = cancel.token().cancelled() => None,
            next = from_host.recv() => next,
        };
        match next? {
            FromHost::User(message) => return Some(Ok(FirstInput::Message(message))),
            FromHost::Control(request) => requests.handle(request).await,
            FromHost::Unreadable(why) => {
                output::note(&why);
                return Some(Err(Exit::Failure));
            }
        }
    }
}

/// Prepares the models that are used while the first one is overloaded: those of `--fallback-model`,
/// separated by commas, or those of the setting `fallbackModel`.
pub(crate) async fn fallback(
    args: &PrintArgs,
    setup: &Setup,
    chosen: &mut ChosenProvider,
) -> anyhow::Result<Option<Fallback>> {
    let flag = args.fallback_model.as_ref();
    let models: Vec<&str> = match (flag, &setup.settings.values.fallback_model) {
        (Some(list), _) => list.split(',').map(str::trim).filter(|it| !it.is_empty()).collect(),
        (None, Some(OneOrMany::One(one))) => vec![one],
        (None, Some(OneOrMany::Many(all))) => all.iter().map(String::as_str).collect(),
        (None, None) => Vec::new(),
    };
    let provider = args.provider.as_deref();
    let mut found: Vec<(Arc<dyn Provider>, String)> = Vec::new();
    for model in models {
        let request = ProviderRequest { provider, model: WantedModel::Flag(Some(model)) };
        let second = match provider::choose(request, setup).await {
            Ok(second) => second,
            // A user who names a model relies on it; the setting only offers one.
            Err(error) if flag.is_some() => return Err(Configuration::wrap(error)),
            Err(error) if error.is::<ModelNotAvailable>() => {
                output::note(&format!("robota: the setting fallbackModel: {error:#}"));
                continue;
            }
            // The setting is for every run, also for one whose provider cannot have the model.
            Err(error) => {
                let why = format!("robota: the setting fallbackModel is not used: {error:#}");
                output::note(&why);
                return Ok(None);
            }
        };
        if second.model == chosen.model {
            let text = "Error: Fallback model cannot be the same as the main model. Please specify a \
                        different model for --fallback-model.";
            match flag {
                Some(_) => return Err(Usage(text.to_owned()).into()),
                None => continue,
            }
        }
        let ChosenProvider { provider, model, secrets, .. } = second;
        // Outputs must not show the keys of these providers either.
        chosen.secrets.extend(secrets);
        found.push((provider, model));
    }
    Ok(Fallback::chain(found))
}

/// Reports that there is no session to resume, with the text that hosts look for.
fn missing_session(error: SdkError, sessions: &SessionArgs) -> anyhow::Error {
    let text = match (&sessions.resume, &error) {
        (Some(Some(id)), SdkError::SessionNotFound(_)) => {
            format!("No conversation found with session ID: {id}")
        }
        (_, SdkError::NothingToContinue { .. }) => "No conversation found to continue".to_owned(),
        _ => return open::in_use(error),
    };
    anyhow::Error::new(error).context(text)
}

/// Says where the key of the model service comes from.
fn api_key_source(vendor: Option<&str>, setup: &Setup) -> &'static str {
    let key = setup.environment.get("ANTHROPIC_API_KEY").is_some_and(|key| !key.is_empty());
    match vendor {
        Some("anthropic") if key => "ANTHROPIC_API_KEY",
        Some(_) if setup.settings.values.api_key_helper.is_some() => "apiKeyHelper",
        Some(_) | None => "none",
    }
}

/// How long a failed start waits for the first request of its host.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until the host has written its first line. A host that is still writing it would report a
/// broken pipe instead of the failure that it can read.
pub(crate) fn wait_for_first_line() {
    // On a thread that nothing joins: a read that blocks cannot be cancelled, and must not keep the
    // program from ending.
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = send.send(());
    });
    let _ = receive.recv_timeout(FIRST_REQUEST_TIMEOUT);
}

/// How a run that failed reports it to its caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailureFormat {
    /// The format that the arguments ask for.
    pub(crate) output: OutputFormat,
    /// Whether a caller of the format `json` reads an array of lines.
    pub(crate) verbose: bool,
}

/// Prints the failure of a run: the result of a turn that did not end. `session` is none if the run
/// failed before it had one.
pub(crate) fn print_failure(
    format: FailureFormat,
    message: &str,
    hint: Option<&str>,
    session: Option<&SessionId>,
) {
    if !format.output.has_result() {
        return;
    }
    let message = match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.to_owned(),
    };
    let uuid = RandomIds.next().to_string();
    // Every line of the protocol has an id of a session, also if there is none yet.
    let session = session.map_or_else(|| RandomIds.next().to_string(), ToString::to_string);
    let line = result::failure(&message, &session, &uuid);
    let Ok(line) = serde_json::to_string(&line) else { return };
    if format.output == OutputFormat::Json && format.verbose {
        output::line(&format!("[{line}]"));
    } else {
        output::line(&line);
    }
}
