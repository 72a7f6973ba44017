//! What is on disk: settings layers, workspace trust, context files, skills and agents.
//!
//! This is the lowest crate that may read the environment and the home directory; those
//! below are given what they need.
//!
//! Nothing is here yet.
