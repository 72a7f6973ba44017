//! `robota sessions`: manages stored sessions. One file per subcommand.

pub(crate) mod args;
mod delete;
mod export;
mod files;
mod fork;
mod import;
mod import_agent;
mod list;
mod prune;
mod rewind;
mod show;
pub(crate) mod text;
pub(crate) mod time;
mod validate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::journal::JournalStore;
use robota_store::DurabilityLevel;

use robota_sdk::store;

use crate::Exit;
use crate::args::SettingsArgs;
use crate::setup::{self, Setup};

use args::{SessionsArgs, SessionsCommand, StoreArgs};

/// Runs a `robota sessions` subcommand.
pub(crate) async fn run(args: SessionsArgs) -> anyhow::Result<Exit> {
    match args.command {
        SessionsCommand::List(args) => list::run(args).await,
        SessionsCommand::Show(args) => show::run(args).await,
        SessionsCommand::Export(args) => export::run(args).await,
        SessionsCommand::Import(args) => import::run(args).await,
        SessionsCommand::Validate(args) => validate::run(args).await,
        SessionsCommand::Fork(args) => fork::run(args).await,
        SessionsCommand::Rewind(args) => rewind::run(args).await,
        SessionsCommand::Delete(args) => delete::run(args).await,
        SessionsCommand::Prune(args) => prune::run(args).await,
    }
}

/// The settings and the session store of a command.
pub(crate) struct Context {
    /// The settings of the working folder.
    pub(crate) setup: Setup,
    /// The value of `--store`.
    store_name: Option<String>,
    /// The open store.
    pub(crate) store: Arc<dyn JournalStore>,
}

impl Context {
    pub(crate) async fn open<Settings: clap::Args>(
        args: &StoreArgs<Settings>,
    ) -> anyhow::Result<Self>
    where
        for<'a> &'a Settings: Into<SettingsArgs>,
    {
        let setup = Setup::load(&args.settings, None)?;
        let store = setup::open_store(args.store.as_deref(), DurabilityLevel::default(), &setup);
        let store = store.await?;
        Ok(Self { setup, store_name: args.store.clone(), store })
    }

    /// Returns the working folder.
    pub(super) fn cwd(&self) -> &Path {
        &self.setup.places.cwd
    }

    /// Returns the folder of the sessions if the store is one of files.
    fn sessions_folder(&self) -> Option<PathBuf> {
        match self.store_name.as_deref() {
            None | Some("file") => Some(store::project_folder(self.cwd())),
            Some(name) => name.strip_prefix("file:").map(PathBuf::from),
        }
    }
}
