//! The core of Robota.

pub mod agent;
pub mod approve;
pub mod blob;
pub mod catalogue;
pub mod clock;
pub mod compact;
pub mod context;
pub mod conversation;
pub mod driver;
pub mod env_ref;
pub mod error;
pub mod event;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod gate;
pub mod history;
pub mod hook;
pub mod ids;
pub mod journal;
pub mod message;
pub mod named;
pub mod paths;
pub mod permission;
pub mod project;
pub mod provider;
#[cfg(feature = "scripted")]
pub mod scripted;
pub mod state;
pub mod tool;
pub mod turn;
pub mod usage;
