//! `robota sessions`: what is kept, and what can be done with it. One file per command.

pub(crate) mod args;
mod delete;
mod export;
mod files;
pub(crate) mod find;
mod fork;
mod import;
mod list;
mod prune;
mod show;
mod text;
mod time;
mod validate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::journal::JournalStore;
use robota_store::DurabilityLevel;

use crate::setup::Setup;
use crate::{Exit, store};

use args::{SessionsArgs, SessionsCommand, StoreArgs};

/// Runs one of them.
pub(crate) async fn run(args: SessionsArgs) -> anyhow::Result<Exit> {
    match args.command {
        SessionsCommand::List(args) => list::run(args).await,
        SessionsCommand::Show(args) => show::run(args).await,
        SessionsCommand::Export(args) => export::run(args).await,
        SessionsCommand::Import(args) => import::run(args).await,
        SessionsCommand::Validate(args) => validate::run(args).await,
        SessionsCommand::Fork(args) => fork::run(args).await,
        SessionsCommand::Delete(args) => delete::run(args).await,
        SessionsCommand::Prune(args) => prune::run(args).await,
    }
}

/// Where a command works.
struct Place {
    /// What is set up there.
    setup: Setup,
    /// The store that was named.
    named: Option<String>,
    /// The store, open.
    store: Arc<dyn JournalStore>,
}

impl Place {
    async fn of(args: &StoreArgs) -> anyhow::Result<Self> {
        let setup = Setup::load(&args.settings, None)?;
        let store = store::open(args.store.as_deref(), DurabilityLevel::default(), &setup).await?;
        Ok(Self { setup, named: args.store.clone(), store })
    }

    /// The folder it works in.
    fn cwd(&self) -> &Path {
        &self.setup.places.cwd
    }

    /// The folder with the sessions, where they are files.
    fn folder(&self) -> Option<PathBuf> {
        match self.named.as_deref() {
            None | Some("file") => Some(store::project_folder(self.cwd())),
            Some(named) => named.strip_prefix("file:").map(PathBuf::from),
        }
    }
}
