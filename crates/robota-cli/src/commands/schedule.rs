//! `robota schedule`: the schedules of a session.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use futures::StreamExt as _;
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::event::{Event, InputAccepted, InputSource};
use robota_core::ids::{RandomIds, ScheduleId};
use robota_core::journal::{JournalError, SessionFilter, SessionHead};
use robota_runtime::{
    MissedRuns, NewSchedule, ScheduleChange, ScheduleError, ScheduleInfo, SessionSchedules as _,
    change_stored_schedule, parse_period, stored_schedules,
};
use robota_sdk::{AgentOptions, Earlier, InteractiveSession, SessionChoice, find_session};
use robota_session::{Approvals, EventFilter, SessionError, SubscriptionItem};
use serde_json::json;

use super::sessions::args::StoreArgs;
use super::sessions::{Context, text, time};
use crate::agent_process::{self, ProcessOptions};
use crate::args::SettingsArgs;
use crate::provider::{self, ProviderRequest, WantedModel};
use crate::{Configuration, Exit, Usage, main_agent, output, setup, signals};

/// `robota schedule`
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    /// List the schedules of a session, or of all sessions of this folder.
    List(ListArgs),
    /// Add a schedule to a session that is not open.
    Add(AddArgs),
    /// Pause a schedule.
    Pause(OneSchedule),
    /// Resume a paused schedule.
    Resume(OneSchedule),
    /// Remove a schedule.
    Remove(OneSchedule),
    /// Open the session and run its schedules until Ctrl-C.
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Session id, unique id prefix or name [default: all sessions of this folder that have schedules].
    session: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
struct OneSchedule {
    /// Session id, unique id prefix or name.
    session: String,

    /// Schedule id, as `robota schedule list` prints it.
    schedule: String,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("when").required(true)))]
struct AddArgs {
    /// Session id, unique id prefix or name.
    session: String,

    /// Prompt that the schedule sends.
    prompt: String,

    /// Period, e.g. 90s, 10m, 2h, 1d.
    #[arg(long, value_name = "PERIOD", group = "when", value_parser = parse_period)]
    every: Option<Duration>,

    /// Number of answers of the model.
    #[arg(long, value_name = "N", group = "when")]
    every_steps: Option<u32>,

    /// Time of every day, e.g. 09:00.
    #[arg(long, value_name = "HH:MM", group = "when")]
    daily: Option<String>,

    /// Day and time of every week, e.g. "Mon 09:00".
    #[arg(long, value_name = "DAY HH:MM", group = "when")]
    weekly: Option<String>,

    /// Cron pattern of five fields, e.g. "*/15 9-17 * * mon-fri".
    #[arg(long, value_name = "PATTERN", group = "when")]
    cron: Option<String>,

    /// Id of the schedule; replaces the schedule that has it [default: a new one].
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Time zone, e.g. Europe/Stockholm.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,

    /// What happens with times at which nothing could run.
    #[arg(long, value_enum, default_value = "once")]
    missed: Missed,

    /// Run later by a random part of this period, drawn once.
    #[arg(long, value_name = "PERIOD", value_parser = parse_period)]
    jitter: Option<Duration>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Session id, unique id prefix or name.
    session: String,

    /// Provider [default: from the settings].
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// Model [default: from the settings].
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    #[command(flatten)]
    store: StoreArgs<SettingsArgs>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Missed {
    /// Skip them.
    Skip,
    /// Run once for all of them.
    Once,
    /// Run for each of them, at most for the last 24.
    All,
}

/// Runs a `robota schedule` subcommand.
pub(crate) async fn run(args: ScheduleArgs) -> anyhow::Result<Exit> {
    match args.command {
        ScheduleCommand::List(args) => {
            let context = Context::open(&args.store).await?;
            let Some(session) = &args.session else {
                return list_all(&context, &args.store).await;
            };
            let session = find_session(&*context.store, session).await?;
            let list = stored_schedules(&*context.store, &session, &SystemClock).await?;
            print(args.store.json, &list)?;
            Ok(Exit::Ok)
        }
        ScheduleCommand::Add(args) => {
            let (session, store) = (args.session.clone(), args.store);
            let new = NewArgs {
                prompt: args.prompt,
                every: args.every,
                every_steps: args.every_steps,
                daily: args.daily,
                weekly: args.weekly,
                cron: args.cron,
            };
            let mut new = new.schedule()?.zone(args.zone).missed(args.missed.into());
            if let Some(id) = args.id {
                new = new.id(id);
            }
            if let Some(jitter) = args.jitter {
                new = new.jitter(jitter);
            }
            change(&session, &store, ScheduleChange::Add(new)).await
        }
        ScheduleCommand::Pause(args) => change_one(args, ScheduleChange::Pause).await,
        ScheduleCommand::Resume(args) => change_one(args, ScheduleChange::Resume).await,
        ScheduleCommand::Remove(args) => change_one(args, ScheduleChange::Remove).await,
        ScheduleCommand::Run(args) => run_schedules(args).await,
    }
}

/// Lists the sessions of the folder that have schedules, with their schedules.
async fn list_all(context: &Context, args: &StoreArgs) -> anyhow::Result<Exit> {
    // The project's own store has only sessions of the project and imported ones.
    let cwd = args.store.is_some().then(|| context.cwd().display().to_string());
    let mut filter = SessionFilter { cwd, ..SessionFilter::default() };
    let mut sessions = Vec::new();
    let mut unreadable = false;
    loop {
        let page = context.store.list(&filter).await?;
        for head in page.sessions {
            match stored_schedules(&*context.store, &head.session, &SystemClock).await {
                Ok(list) if list.is_empty() => {}
                Ok(list) => sessions.push((head, list)),
                // One damaged session must not hide the schedules of the others.
                Err(error) => {
                    unreadable = true;
                    output::error(&error.to_string());
                }
            }
        }
        filter.after = page.next;
        if filter.after.is_none() {
            break;
        }
    }
    if args.json {
        let value = |(head, list): &(SessionHead, Vec<_>)| {
            json!({
                "session": head.session,
                "name": head.name,
                "schedules": values(list),
            })
        };
        let sessions: Vec<_> = sessions.iter().map(value).collect();
        output::line(&serde_json::to_string(&sessions)?);
    } else if sessions.is_empty() && !unreadable {
        output::note("no session of this folder has schedules");
    }
    for (head, list) in sessions.iter().filter(|_| !args.json) {
        let name = head.name.as_deref().or(head.title.as_deref()).unwrap_or_default();
        output::line(&format!("{}  {}", head.session, text::plain(name)));
        for line in ScheduleInfo::list_text(list).lines() {
            output::line(&format!("  {line}"));
        }
    }
    Ok(if unreadable { Exit::Failure } else { Exit::Ok })
}

/// The arguments that say when a new schedule fires, and what it sends.
struct NewArgs {
    prompt: String,
    every: Option<Duration>,
    every_steps: Option<u32>,
    daily: Option<String>,
    weekly: Option<String>,
    cron: Option<String>,
}

impl NewArgs {
    fn schedule(self) -> anyhow::Result<NewSchedule> {
        let prompt = self.prompt;
        Ok(match (self.every, self.every_steps, self.daily, self.weekly, self.cron) {
            (Some(period), ..) => NewSchedule::every(period, prompt),
            (_, Some(steps), ..) => NewSchedule::every_steps(steps, prompt),
            (_, _, Some(time), ..) => NewSchedule::daily(time, prompt),
            (_, _, _, Some(time), _) => NewSchedule::weekly(&time, prompt),
            (.., Some(pattern)) => NewSchedule::cron(pattern, prompt),
            _ => {
                return Err(
                    Usage("say when the schedule fires, e.g. --daily 09:00".to_owned()).into()
                );
            }
        })
    }
}

async fn change_one(
    args: OneSchedule,
    make: impl FnOnce(ScheduleId) -> ScheduleChange,
) -> anyhow::Result<Exit> {
    let schedule = ScheduleId::from(args.schedule);
    change(&args.session, &args.store, make(schedule)).await
}

async fn change(session: &str, args: &StoreArgs, change: ScheduleChange) -> anyhow::Result<Exit> {
    let context = Context::open(args).await?;
    let session = find_session(&*context.store, session).await?;
    let clock = Arc::new(SystemClock);
    let changed =
        change_stored_schedule(&*context.store, &session, change, (clock, &RandomIds)).await;
    let changed = changed.map_err(|error| {
        // The process that has the session open is its only writer.
        let open = matches!(
            &error,
            ScheduleError::Session(SessionError::Journal(JournalError::Locked { .. }))
        );
        match open {
            true => anyhow::Error::new(error).context(
                "the schedules of an open session are changed in it, with its command /schedule",
            ),
            false => error.into(),
        }
    })?;
    print(args.json, &changed)?;
    Ok(Exit::Ok)
}

/// Opens a session and runs its schedules. Calls that need an approval are denied.
async fn run_schedules(args: RunArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let session = find_session(&*context.store, &args.session).await?;
    let choose = async |model: Option<&str>| {
        let provider = args.provider.as_deref();
        let request = ProviderRequest { provider, model: WantedModel::Flag(model) };
        provider::choose(request, &context.setup).await.map_err(Configuration::wrap)
    };
    let main = main_agent::find(None, &context.setup, Vec::new())?;
    let mut chosen = choose(args.model.as_deref()).await?;
    let of_agent = main.as_ref().and_then(|agent| main_agent::model(agent, &chosen.model));
    // A model of the arguments is stronger than that of the agent.
    if let Some(model) = of_agent.filter(|_| args.model.is_none()) {
        chosen = choose(Some(&model)).await?;
    }
    // Before the session is opened, so that one Ctrl-C does not end the process in the middle of a
    // write.
    let cancel = signals::cancel_on_interrupt()?;
    let earlier = Earlier::Named(session.as_str().to_owned());
    let model = chosen.into_setup(None);
    let process = ProcessOptions {
        settings: args.store.settings,
        provider: args.provider,
        model: args.model,
        store: args.store.store,
        ..ProcessOptions::default()
    };
    let agents = AgentOptions {
        tool: true,
        main,
        program: agent_process::program(process, &context.setup),
        ..AgentOptions::default()
    };
    let mut builder = InteractiveSession::builder(context.setup.project.clone(), model)
        .store(context.store.clone())
        .agents(agents)
        .choose(SessionChoice::Earlier(earlier))
        // The command runs without a user who could answer.
        .approvals(Approvals::Deny);
    if let Some(reaper) = setup::reaper() {
        builder = builder.reaper(reaper);
    }
    let interactive = builder.open().await?;
    let open = interactive.session().clone();
    let list = open.schedule().list().await?;
    let schedules = output::counted(list.len(), "schedule");
    output::line(&format!("{schedules} of session {session}; Ctrl-C ends this"));
    // Schedules fire since the session is open.
    let mut events = open.subscribe(interactive.opened_at(), EventFilter::Everything).await?;
    loop {
        tokio::select! {
            () = cancel.token().cancelled() => break,
            item = events.next() => match item {
                Some(Ok(SubscriptionItem::Event(event))) => {
                    if let Some(line) = event_line(&event.envelope.event) {
                        output::line(&line);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("the session cannot be followed"),
                None => break,
            },
        }
    }
    // Ctrl-C is how this command ends, so it is no failure.
    interactive.shutdown("interrupted").await?;
    Ok(Exit::Ok)
}

/// Returns the line that reports a trigger, an answer or a failure.
fn event_line(event: &Event) -> Option<String> {
    let now = time::minute(SystemClock.now());
    match event {
        Event::InputAccepted(InputAccepted {
            source: Some(InputSource::Schedule { schedule, .. }),
            ..
        }) => Some(format!("{now}  schedule {schedule} fired")),
        Event::ScheduleSkipped(data) => {
            Some(format!("{now}  schedule {} skipped {} times", data.schedule, data.times))
        }
        Event::AssistantMessage(data) if !data.message.text().is_empty() => {
            Some(format!("{now}  {}", text::plain(&data.message.text())))
        }
        Event::ModelFailed(data) => Some(format!("{now}  failed: {}", data.error.message)),
        _ => None,
    }
}

fn print(json: bool, list: &[ScheduleInfo]) -> anyhow::Result<()> {
    output::line(&if json {
        serde_json::to_string(&values(list))?
    } else {
        ScheduleInfo::list_text(list)
    });
    Ok(())
}

fn values(list: &[ScheduleInfo]) -> serde_json::Value {
    let value = |info: &ScheduleInfo| {
        json!({
            "id": info.id,
            "trigger": info.spec.trigger,
            "zone": info.spec.zone.as_deref().unwrap_or("UTC"),
            "prompt": info.prompt(),
            "missed_runs": info.spec.missed,
            "jitter_ms": info.spec.jitter_ms,
            "paused": info.paused,
            "runs": info.runs,
            "missed": info.missed,
            "next": info.next.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "problem": info.problem,
        })
    };
    list.iter().map(value).collect()
}

impl From<Missed> for MissedRuns {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Skip => Self::Skip,
            Missed::Once => Self::Once,
            Missed::All => Self::All,
        }
    }
}
