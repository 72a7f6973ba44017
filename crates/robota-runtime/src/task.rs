//! Background tasks: bounded, watched, recorded (RUN-01 to RUN-03).

mod error;
mod inputs;
mod journal;
mod limits;
mod log;
mod manager;
mod process;
mod queue;
mod runner;
mod supervise;

pub use error::TaskManagerError;
pub use inputs::TaskInputs;
pub use journal::{NoJournal, TaskJournal};
pub use limits::{TaskLimits, Watchdog};
pub use log::{FileLogs, LogPage, MemoryLogs, TaskLogs};
pub use manager::{CancelOnDrop, TaskEvent, TaskManager, TaskManagerOptions};
pub use process::{ProcessProgram, ProcessTasks, ProcessWork};
pub use runner::{TaskJob, TaskReporter, TaskRequest, TaskRunner, TaskWork};
