//! Many agents at once: background tasks, subagents, worktrees, job groups, scheduler, pool,
//! room and placement.

mod pool;
mod room;
mod schedule;
mod template;

pub use pool::{
    AgentEntry, AgentOptions, Pool, PoolAgent, PoolBuilder, PoolError, PoolLimits, PooledSession,
    PooledSubscription, ShutdownReport, TaskRun,
};
pub use robota_core::event::{MissedRuns, Trigger};
pub use room::{DEFAULT_HOPS, Room, RoomError, RoomMessage, RoomSay, Said};
pub use schedule::{
    NewSchedule, ScheduleChange, ScheduleDriver, ScheduleError, ScheduleInfo, Schedules,
    SessionSchedules, change_stored_schedule, stored_schedules,
};
pub use template::Template;
