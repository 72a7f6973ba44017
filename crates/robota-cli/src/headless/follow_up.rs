//! Turns that follow the ends of agents in the background: the model receives what they found, also if no
//! further prompt comes. A run without further input waits for the agents, and then prints the result.

use std::collections::HashSet;
use std::time::Duration;

use robota_config::ProgramEnvironment;
use robota_core::ids::TaskId;
use robota_core::message::Block;
use robota_core::task::{TaskKind, TaskMode, TaskState, TaskStatus};
use robota_stream_json::TurnOrigin;
use tokio::time::Instant;

use super::drive::{Drive, Progress};
use super::result;
use super::sent::Sent;
use super::turn_record::TurnRecord;

/// The variable with the most milliseconds for which a run without input waits for agents between two
/// turns; 0 is no limit.
const LIMIT_VARIABLE: &str = "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS";

/// The limit without the variable.
// Agent SDKs end their own wait after the same time.
const LIMIT: Duration = Duration::from_secs(600);

/// What the prompt of such a turn says. The reports of the agents come with it.
const PROMPT: &str = "<system-reminder>\nAgents in the background have ended; their reports are below. \
    Continue the task with them.\n</system-reminder>";

/// The turns that agents in the background still cause.
#[derive(Debug, Default)]
pub(crate) struct FollowUps {
    limit: Option<Duration>,
    /// The agents whose ends had a turn.
    reported: HashSet<TaskId>,
    /// The result of a turn, which is printed when the agents have ended.
    held: Option<TurnRecord>,
    /// When the run stops to wait.
    until: Option<Instant>,
    /// Whether it has waited long enough.
    given_up: bool,
    /// Whether a turn follows the result that is printed.
    pub(super) continues: bool,
}

impl FollowUps {
    /// Reads how long a run waits.
    pub(crate) fn new(environment: &ProgramEnvironment) -> Self {
        let given = environment.get(LIMIT_VARIABLE).and_then(|text| text.trim().parse().ok());
        let limit = match given {
            Some(0) => None,
            Some(milliseconds) => Some(Duration::from_millis(milliseconds)),
            None => Some(LIMIT),
        };
        Self { limit, ..Self::default() }
    }

    /// Returns when the run stops to wait; none while it does not wait.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

impl Drive {
    /// Returns whether the run continues without input: for an agent, or for the turn after it.
    pub(super) fn waits_for_agents(&self, progress: &Progress) -> bool {
        let closed = self.from_host.is_none() && !self.follow_ups.given_up;
        let owed = self.agents_run() || !self.ended_agents().is_empty();
        self.follow_ups.held.is_some() || (closed && owed && self.may_follow(progress))
    }

    /// Returns the tasks so far.
    pub(super) fn known_tasks(&self) -> HashSet<TaskId> {
        let tasks = self.interactive.tasks().map(|tasks| tasks.list()).unwrap_or_default();
        tasks.into_iter().map(|task| task.task).collect()
    }

    /// Starts no turn for the agents of a command that has ended: its result is what they found. The
    /// model receives their reports with the next prompt. `before` are the tasks before the command.
    pub(super) fn skip_agents_of_command(&mut self, before: &HashSet<TaskId>) {
        let tasks = self.interactive.tasks().map(|tasks| tasks.unreported()).unwrap_or_default();
        // An agent of a call was started by a turn.
        let of_command = |task: &TaskState| task.call.is_none() && !before.contains(&task.task);
        let ended = tasks.into_iter().filter(of_command).map(|task| task.task);
        self.follow_ups.reported.extend(ended);
    }

    /// Returns whether the end of an agent will start a turn.
    pub(super) fn owes_turn(&self, progress: &Progress) -> bool {
        self.may_follow(progress) && !self.ended_agents().is_empty()
    }

    /// Returns whether turns may follow. After a turn that failed or was interrupted the user decides.
    fn may_follow(&self, progress: &Progress) -> bool {
        !progress.stopping() && !progress.failed()
    }

    /// Returns the agents that ended by themselves in this process, and whose ends had no turn yet.
    fn ended_agents(&self) -> Vec<TaskId> {
        let tasks = self.interactive.tasks().map(|tasks| tasks.unreported()).unwrap_or_default();
        let follows = |task: &TaskState| {
            let ended = matches!(task.status, TaskStatus::Completed | TaskStatus::Failed);
            let background = task.kind == TaskKind::Agent && task.mode == TaskMode::Background;
            ended && background && !self.follow_ups.reported.contains(&task.task)
        };
        tasks.into_iter().filter(follows).map(|task| task.task).collect()
    }

    /// Keeps the result of a turn if nothing but the ends of agents can follow. Returns it otherwise.
    pub(super) fn hold_result(
        &mut self,
        record: TurnRecord,
        progress: &Progress,
    ) -> Option<TurnRecord> {
        let more = self.from_host.is_some()
            || self.command.is_some()
            || !self.after_turn.is_empty()
            || progress.inputs.0.iter().any(Sent::waits);
        let waits = !more
            && !progress.stopping()
            && !self.follow_ups.given_up
            && (self.agents_run() || !self.ended_agents().is_empty())
            && !result::classify(&record).is_error;
        if waits {
            self.follow_ups.held = Some(record);
            return None;
        }
        Some(record)
    }

    /// Starts the turn after the end of an agent, if nothing else runs; prints the result that was held
    /// when no agent is left.
    pub(super) async fn follow_up(&mut self, progress: &mut Progress) -> anyhow::Result<()> {
        // A turn during a change of the model would use the model before it.
        let changing = self.holds_messages();
        let idle = !self.is_busy(progress) && self.after_turn.is_empty() && !changing;
        if !idle && !progress.stopping() {
            self.follow_ups.until = None;
            return Ok(());
        }
        let ended = self.ended_agents();
        if !ended.is_empty() && self.may_follow(progress) {
            self.follow_ups.until = None;
            self.follow_ups.continues = true;
            // The result of the turn before is printed before the lines of the next turn.
            // `continues` says that it is not the last one: formats with one result leave it out.
            self.release_result(progress).await;
            self.follow_ups.continues = false;
            self.follow_ups.reported.extend(ended);
            let prompt = vec![Block::text(PROMPT)];
            return self.send_as_is(prompt, TurnOrigin::TaskNotification, progress).await;
        }
        let waits = self.agents_run() && self.waits_for_agents(progress);
        if waits && !progress.stopping() {
            let now = Instant::now();
            let limit = self.follow_ups.limit;
            let until = self.follow_ups.until.or_else(|| limit.map(|limit| now + limit));
            self.follow_ups.until = until;
            if until.is_none_or(|until| now < until) {
                return Ok(());
            }
            self.follow_ups.given_up = true;
        }
        self.follow_ups.until = None;
        self.release_result(progress).await;
        Ok(())
    }

    async fn release_result(&mut self, progress: &mut Progress) {
        if let Some(record) = self.follow_ups.held.take() {
            self.report(&record, progress).await;
        }
    }
}
