//! Work beside the conversation: background tasks, subagents, worktrees and groups of tasks.
//!
//! A [`TaskManager`] runs tasks within limits and records everything that happens to them in the
//! journal of a session, through a port. What a task does is the work of a [`TaskRunner`]:
//! [`ProcessTasks`] runs commands on the supervisor, [`InProcessAgents`] runs agents with sessions of
//! their own, and [`WorktreeAgents`] gives them a git worktree.

pub mod group;
pub mod subagent;
pub mod task;
pub mod worktree;

pub use group::Groups;
pub use subagent::{
    AgentHooks, AgentJob, AgentSession, AgentSessions, AgentWork, InProcessAgents, Isolation,
    NoAgentHooks,
};
pub use task::{
    FileLogs, LogPage, MemoryLogs, NoJournal, ProcessTasks, ProcessWork, TaskEvent, TaskJob, TaskJournal,
    TaskLimits, TaskLogs, TaskManager, TaskManagerError, TaskManagerOptions, TaskReporter,
    TaskRequest, TaskRunner, TaskWork,
};
pub use worktree::{
    ListedWorktree, Removed, Worktree, WorktreeAgents, WorktreeError, WorktreeHooks, Worktrees,
};
