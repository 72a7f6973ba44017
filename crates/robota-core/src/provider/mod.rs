//! Providers of models.

pub mod definition;
