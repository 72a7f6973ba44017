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

use std::path::PathBuf;
use std::sync::Arc;

use robota_config::{Environment, Places};
use robota_core::journal::JournalStore;
use robota_store::Level;

use crate::store::StoreChoice;
use crate::{Exit, compose};

use args::{SessionsArgs, SessionsCommand, StoreArgs};

/// Runs one of them.
pub(crate) async fn run(args: SessionsArgs) -> anyhow::Result<Exit> {
    match args.command {
        SessionsCommand::List(args) => list::run(args).await,
        SessionsCommand::Show(args) => show::run(args).await,
        SessionsCommand::Export(args) => export::run(*args).await,
        SessionsCommand::Import(args) => import::run(args).await,
        SessionsCommand::Validate(args) => validate::run(args).await,
        SessionsCommand::Fork(args) => fork::run(args).await,
        SessionsCommand::Delete(args) => delete::run(args).await,
        SessionsCommand::Prune(args) => prune::run(args).await,
    }
}

/// Where a command works.
struct Place {
    /// The folder.
    cwd: PathBuf,
    /// Which store.
    choice: StoreChoice,
    /// The store, open.
    store: Arc<dyn JournalStore>,
}

impl Place {
    async fn of(args: &StoreArgs) -> anyhow::Result<Self> {
        let cwd = compose::working_directory(args.cwd.as_deref())?;
        let choice = StoreChoice::parse(args.store.as_deref(), &cwd)?;
        let home = Places::from_env(&Environment::of_process()).unwrap_or_default().home;
        let store = choice.open(Level::default(), home.as_deref()).await?;
        Ok(Self { cwd, choice, store })
    }
}
