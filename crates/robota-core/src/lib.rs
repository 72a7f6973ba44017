//! The core of Robota.

pub mod error;
pub mod paths;
pub mod permission;
