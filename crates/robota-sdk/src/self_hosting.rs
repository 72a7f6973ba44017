//! Self-hosting: how an agent changes and verifies the program that runs it.
//!
//! The running process keeps the code that it was started with. The changed tree is verified in child
//! processes, and a failure leads back to the checkpoint. This module only plans and tracks: it writes
//! no file and starts no process.
//!
//! ```
//! use robota_sdk::self_hosting::{LoopEvent, LoopState, Toolchain, VerificationRequest, plan};
//!
//! let request = VerificationRequest {
//!     changed_files: vec!["crates/robota-core/src/lib.rs".to_owned()],
//!     package_scopes: vec!["robota-core".to_owned()],
//!     base_ref: "origin/main".to_owned(),
//! };
//! let plan = plan(&request, &Toolchain::cargo())?;
//! assert_eq!(plan.steps[3].command.as_ref().unwrap().join(" "), "cargo test -p robota-core");
//!
//! let mut state = LoopState::Idle;
//! for event in [LoopEvent::CheckpointCreated, LoopEvent::EditsStarted, LoopEvent::EditsApplied] {
//!     state = state.on(event)?;
//! }
//! assert_eq!(state.on(LoopEvent::VerifyPassed)?, LoopState::VerifyPassed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lifecycle;
mod plan;

pub use lifecycle::{InvalidTransition, LoopEvent, LoopState};
pub use plan::{
    PlanError, PlannedStep, Runs, StepKind, Toolchain, VerificationPlan, VerificationRequest, plan,
};
