//! The core of Robota.

pub mod catalogue;
pub mod context;
pub mod env_ref;
pub mod error;
pub mod named;
pub mod paths;
pub mod permission;
pub mod provider;
pub mod usage;
