//! `/schedule`: lists, adds, pauses and removes the schedules of the session while it is open.

use async_trait::async_trait;
use robota_core::ids::ScheduleId;
use robota_runtime::{
    NewSchedule, ScheduleError, ScheduleInfo, SessionSchedules as _, parse_period,
};
use serde_json::json;

use super::background::split;
use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Schedule;

const USAGE: &str = "Usage: /schedule list | add WHEN [in ZONE] PROMPT | pause ID | resume ID | remove ID\n\
    WHEN is one of: every 10m, every-steps 5, daily 09:00, weekly Mon 09:00, cron */15 9-17 * * mon-fri";

/// How many words a cron pattern has.
const CRON_FIELDS: usize = 5;

#[async_trait]
impl SystemCommand for Schedule {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("schedule", "Shows and changes the schedules of the session")
            .arguments("list | add WHEN [in ZONE] PROMPT | pause ID | resume ID | remove ID")
            .subcommand("list", "Lists the schedules")
            .subcommand("add", "Adds a schedule")
            .subcommand("pause", "Pauses a schedule")
            .subcommand("resume", "Resumes a paused schedule")
            .subcommand("remove", "Removes a schedule")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let schedules = session.session().schedule();
        let (name, rest) = split(arguments);
        let id = ScheduleId::from(rest);
        let changed = match (name, rest) {
            ("" | "list", "") => Ok(()),
            ("add", text) => match new_schedule(text) {
                Some(Ok(new)) => schedules.add(new).await.map(drop),
                Some(Err(error)) => Err(error),
                None => return CommandResult::failed(USAGE),
            },
            // Behind the commands without an argument: the others need one.
            (_, "") => return CommandResult::failed(USAGE),
            ("pause", _) => schedules.pause(&id).await,
            ("resume", _) => schedules.resume(&id).await,
            ("remove", _) => schedules.remove(&id).await,
            _ => return CommandResult::failed(USAGE),
        };
        let listed = match changed {
            Ok(()) => schedules.list().await,
            Err(error) => Err(error),
        };
        match listed {
            Ok(list) => {
                let ids: Vec<_> = list.iter().map(|info| info.id.as_str()).collect();
                CommandResult::ok(ScheduleInfo::list_text(&list)).with("schedules", json!(ids))
            }
            Err(error) => failed(&error),
        }
    }
}

/// Reads a schedule that is to be added; none if a part is missing.
fn new_schedule(text: &str) -> Option<Result<NewSchedule, ScheduleError>> {
    let (kind, rest) = split(text);
    let words = match kind {
        "weekly" => 2,
        "cron" => CRON_FIELDS,
        _ => 1,
    };
    let (mut when, mut prompt) = (Vec::new(), rest);
    for _ in 0..words {
        let (word, after) = split(prompt);
        when.push(word);
        prompt = after;
    }
    let mut zone = None;
    // A prompt may begin with "in" too; the name of a zone has a slash.
    if let ("in", rest) = split(prompt)
        && let (name, rest) = split(rest)
        && (name.contains('/') || name == "UTC")
    {
        (zone, prompt) = (Some(name), rest);
    }
    if prompt.is_empty() {
        return None;
    }
    let when = when.join(" ");
    let new = match kind {
        "every" => match parse_period(&when) {
            Ok(period) => NewSchedule::every(period, prompt),
            Err(error) => return Some(Err(error)),
        },
        "every-steps" => NewSchedule::every_steps(when.parse().ok()?, prompt),
        "daily" => NewSchedule::daily(when, prompt),
        "weekly" => NewSchedule::weekly(&when, prompt),
        "cron" => NewSchedule::cron(when, prompt),
        _ => return None,
    };
    Some(Ok(match zone {
        Some(zone) => new.zone(zone),
        None => new,
    }))
}
