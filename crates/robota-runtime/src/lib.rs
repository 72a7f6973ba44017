//! Many agents at once: background tasks, subagents, worktrees, job groups, scheduler, pool,
//! room and placement.
//!
//! Nothing is here yet. The ports it will implement (`Spawner` among them) are in
//! [`robota_core`].
