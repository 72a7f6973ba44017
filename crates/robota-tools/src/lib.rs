//! Built-in tools.

pub mod diff;
mod error;
pub mod file;

pub use error::FileError;
