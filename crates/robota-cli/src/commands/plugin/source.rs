//! Finds the plugin or the marketplace that an argument names.

use std::path::{Path, PathBuf};

use robota_config::plugins::{GitSource, PluginOrigin, PluginSource, Plugins, marketplace_source};
use robota_exec::{Environment, Supervisor};
use robota_sdk::plugins::{FetchedRepository, fetch};
use robota_sdk::{Project, processes};

use crate::Usage;

/// Fetches plugins and marketplaces.
pub(super) struct Sources<'p> {
    project: &'p Project,
    supervisor: Supervisor,
    environment: Environment,
}

/// A plugin or a marketplace in a folder, and where it comes from.
pub(super) struct Found {
    pub(super) origin: PluginOrigin,
    place: Place,
}

enum Place {
    Folder(PathBuf),
    Repository(FetchedRepository),
}

impl Found {
    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        match &self.place {
            Place::Folder(folder) => folder,
            Place::Repository(repository) => repository.folder(),
        }
    }
}

impl<'p> Sources<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        let environment = processes::process_environment();
        Self { project, supervisor: Supervisor::new(), environment }
    }

    /// Finds a plugin: a folder, a repository, or NAME@MARKETPLACE.
    pub(super) async fn plugin(&self, plugins: &Plugins, text: &str) -> anyhow::Result<Found> {
        // Folders and addresses first: both may contain `@`.
        if let Some(source) = given(text) {
            return self.get(source).await;
        }
        let Some((name, market)) = text.split_once('@') else {
            return Err(Usage(format!(
                "`{text}` is not a folder, not the https, ssh or file address of a git repository, \
                 and not NAME@MARKETPLACE"
            ))
            .into());
        };
        let found = plugins.marketplaces().find(|(known, _)| *known == market);
        let (_, marketplace) = found.ok_or_else(|| {
            Usage(format!(
                "there is no marketplace `{market}`; add it with `robota plugin marketplace add`"
            ))
        })?;
        let marketplace = marketplace.map_err(|problem| anyhow::anyhow!("{market}: {problem}"))?;
        let entry = marketplace.plugins.into_iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| Usage(format!("{market} has no plugin `{name}`")))?;
        let source = entry.source.ok_or_else(|| {
            Usage(format!(
                "the source of `{name}` is not a folder of the marketplace and not a git repository"
            ))
        })?;
        let mut found = self.get(source).await?;
        found.origin.marketplace = Some(market.to_owned());
        found.origin.name = Some(entry.name);
        Ok(found)
    }

    /// Finds a marketplace: a folder, a repository, or a name of the settings.
    pub(super) async fn marketplace(&self, text: &str) -> anyhow::Result<Found> {
        let settings = &self.project.settings.values;
        let named = settings.extra_known_marketplaces.get(text);
        let source = match named.or_else(|| settings.additional_marketplaces.get(text)) {
            Some(entry) => marketplace_source(entry),
            None => given(text),
        };
        let source = source.ok_or_else(|| {
            Usage(format!(
                "`{text}` is not a folder, not the https, ssh or file address of a git repository, \
                 and not a marketplace of the settings"
            ))
        })?;
        self.get(source).await
    }

    /// Returns the names of the marketplaces that the settings name.
    pub(super) fn named_marketplaces(&self) -> impl Iterator<Item = &str> {
        let settings = &self.project.settings.values;
        let names = settings.extra_known_marketplaces.keys();
        names.chain(settings.additional_marketplaces.keys()).map(String::as_str)
    }

    /// Finds the newest version of a repository, or the given commit.
    pub(super) async fn repository(
        &self,
        source: &GitSource,
        commit: Option<String>,
    ) -> anyhow::Result<Found> {
        self.get(PluginSource::Git(GitSource { commit, ..source.clone() })).await
    }

    /// Makes the files of a source available.
    pub(super) async fn get(&self, source: PluginSource) -> anyhow::Result<Found> {
        Ok(match source {
            PluginSource::Folder(folder) => {
                // An update reads the folder again, possibly from another working folder.
                let source = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                let source = source.display().to_string();
                let origin = PluginOrigin { source, ..PluginOrigin::default() };
                Found { origin, place: Place::Folder(folder) }
            }
            PluginSource::Git(source) => {
                let fetched = fetch(&source, &self.supervisor, &self.environment).await?;
                let origin = PluginOrigin {
                    source: source.to_string(),
                    name: Some(source.repository().to_owned()),
                    git: Some(GitSource { commit: Some(fetched.commit.clone()), ..source }),
                    marketplace: None,
                };
                Found { origin, place: Place::Repository(fetched) }
            }
        })
    }
}

/// Reads an argument: an existing folder, or the address of a repository.
fn given(text: &str) -> Option<PluginSource> {
    if Path::new(text).is_dir() {
        return Some(PluginSource::Folder(PathBuf::from(text)));
    }
    GitSource::parse(text).map(PluginSource::Git)
}
