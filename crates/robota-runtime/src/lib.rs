//! Work in parallel to the conversation, and many agents in one process: background tasks,
//! subagents, worktrees, groups of tasks, schedules, pools and rooms.
//!
//! A [`TaskManager`] runs tasks within limits and records everything that happens to them in the
//! journal of a session, through a port. What a task does is the work of a [`TaskRunner`]:
//! [`ProcessTasks`] runs commands on the supervisor, [`InProcessAgents`] runs agents with sessions of
//! their own, [`ProcessAgents`] in processes of their own, and [`WorktreeAgents`] gives them a git worktree.

pub mod group;
mod pool;
mod room;
mod schedule;
pub mod subagent;
pub mod task;
mod template;
pub mod worktree;

pub use group::Groups;
pub use pool::{
    AgentEntry, Pool, PoolAgent, PoolAgentOptions, PoolBuilder, PoolError, PoolLimits,
    PooledSession, PooledSubscription, ResumedAll, ShutdownReport,
};
pub use robota_core::event::{MissedRuns, Trigger};
pub use room::{DEFAULT_HOPS, Room, RoomError, RoomMessage, RoomSay, Said};
pub use schedule::{
    NewSchedule, ScheduleChange, ScheduleDriver, ScheduleError, ScheduleInfo, Schedules,
    SessionSchedules, change_stored_schedule, parse_period, stored_schedules,
};
pub use subagent::{
    AgentJob, AgentObserver, AgentOutput, AgentProcesses, AgentReply, AgentRequest, AgentRunners,
    AgentSession, AgentSessions, AgentStop, AgentWork, FromAgent, InProcessAgents, NewAgentProcess,
    NoAgentHooks, ParentRequests, ProcessAgents, SubagentHooks, ToAgent, serve_agent,
};
pub use task::{
    CancelOnDrop, FileLogs, LogPage, MemoryLogs, NoJournal, ProcessProgram, ProcessTasks,
    ProcessWork, TaskEvent, TaskInputs, TaskJob, TaskJournal, TaskLimits, TaskLogs, TaskManager,
    TaskManagerError, TaskManagerOptions, TaskReporter, TaskRequest, TaskRunner, TaskWork,
};
pub use template::Template;
pub use worktree::{
    ListedWorktree, Removed, Worktree, WorktreeAgents, WorktreeError, WorktreeHooks, Worktrees,
};
