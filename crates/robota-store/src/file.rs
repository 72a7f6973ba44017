//! Journals in files.
//!
//! ```text
//! root/                      0700
//!   .gitignore               `*`, when the root is a project's `.robota/sessions`
//!   {folder name}/           0700, see `folder`
//!     lock                   held by the writer; says who it is
//!     head.json              the session's id
//!     {first seq}.jsonl      0600, a segment: one event per line
//! ```
//!
//! A session exists from its first event: a folder without one is what a writer left that
//! died before anything was acknowledged, and the next `create` takes it over.

mod blobs;
mod disk;
mod folder;
mod head;
mod lock;
mod segment;
mod store;
mod writer;

pub use store::FileStore;
