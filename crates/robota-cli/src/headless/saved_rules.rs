//! Writes changes of permissions to settings files, through the settings writer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use robota_config::{
    ConfigError, KeyPath, Layer, RuleList, SettingsWriter, TrustStore, directories_key, mode_key,
    rule_check,
};
use robota_core::approve::RuleSink;
use robota_core::clock::SystemClock;
use robota_core::error::{Diagnose as _, ErrorData};
use robota_core::hook::HookData;
use robota_core::permission::{PermissionUpdate, RuleUpdate, UpdateDestination, Verdict};
use robota_sdk::config_change;
use serde_json::Value;

use crate::setup::Setup;

/// Saves rules in the files of a working folder and of its user.
pub(crate) struct SavedRules {
    setup: Arc<Setup>,
    /// Held while a file is changed: two approvals at the same time change it one after the other.
    writing: Mutex<()>,
}

impl SavedRules {
    /// Creates a sink for the settings of a run.
    pub(crate) fn new(setup: Arc<Setup>) -> Self {
        Self { setup, writing: Mutex::default() }
    }

    /// Returns the folders of the workspace.
    pub(crate) fn workspace(&self) -> Vec<PathBuf> {
        let workspace = self.setup.workspace();
        std::iter::once(workspace.cwd).chain(workspace.additional).collect()
    }

    /// Adds rules to a list of a file.
    ///
    /// # Errors
    /// When a rule is not valid, or the file cannot be written.
    pub(crate) fn add(
        &self,
        layer: Layer,
        list: RuleList,
        rules: &[String],
    ) -> Result<(), ConfigError> {
        let check = rule_check(&self.setup.places);
        self.write(|writer| {
            for rule in rules {
                writer.add_rule(layer, list, rule, &check)?;
            }
            Ok(())
        })
    }

    /// Removes entries from a list of a file; `None` removes all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn remove(
        &self,
        layer: Layer,
        key: &KeyPath,
        entries: Option<&[String]>,
    ) -> Result<(), ConfigError> {
        let keep = |entry: &str| entries.is_some_and(|all| !all.iter().any(|one| one == entry));
        // A file that does not exist has nothing to remove.
        if self.setup.places.file(layer).is_none_or(|file| !file.exists()) {
            return Ok(());
        }
        self.write(|writer| writer.retain(layer, key, &keep).map(|_| ()))
    }

    fn update(&self, layer: Layer, update: &PermissionUpdate) -> Result<(), ConfigError> {
        match update {
            PermissionUpdate::AddRules(update) => self.add(layer, list(update), &update.rules),
            PermissionUpdate::ReplaceRules(update) => {
                self.remove(layer, &list(update).key(), None)?;
                self.add(layer, list(update), &update.rules)
            }
            PermissionUpdate::RemoveRules(update) => {
                self.remove(layer, &list(update).key(), Some(&update.rules))
            }
            PermissionUpdate::SetMode { mode, .. } => self.write(|writer| {
                let mode = Value::from(mode.name());
                writer.set(layer, &mode_key(), Some(&mode)).map(|_| ())
            }),
            PermissionUpdate::AddDirectories(update) => self.write(|writer| {
                for folder in &update.directories {
                    writer.add_directory(layer, folder)?;
                }
                Ok(())
            }),
            PermissionUpdate::RemoveDirectories(update) => {
                self.remove(layer, &directories_key(), Some(&update.directories))
            }
        }
    }

    fn write(
        &self,
        change: impl FnOnce(&mut SettingsWriter<'_>) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let places = &self.setup.places;
        // Read for each change: another process may have changed it since.
        let mut trust = TrustStore::load(places);
        change(&mut SettingsWriter { places, trust: &mut trust, clock: &SystemClock })
    }
}

/// Returns the settings file of a destination; none for the session.
fn layer(destination: UpdateDestination) -> Option<Layer> {
    match destination {
        UpdateDestination::UserSettings => Some(Layer::UserRobota),
        UpdateDestination::ProjectSettings => Some(Layer::ProjectRobota),
        UpdateDestination::LocalSettings => Some(Layer::ProjectRobotaLocal),
        UpdateDestination::Session | UpdateDestination::CliArg => None,
    }
}

fn list(update: &RuleUpdate) -> RuleList {
    match update.behavior {
        Verdict::Allow => RuleList::Allow,
        Verdict::Ask => RuleList::Ask,
        Verdict::Deny => RuleList::Deny,
    }
}

#[async_trait::async_trait]
impl RuleSink for SavedRules {
    fn event(&self, destination: UpdateDestination) -> Option<HookData> {
        layer(destination).map(|layer| config_change(&self.setup.places, layer))
    }

    fn file(&self, destination: UpdateDestination) -> Option<String> {
        let file = self.setup.places.file(layer(destination)?)?;
        // As the origins of rules are shown.
        Some(robota_config::shown(&file))
    }

    async fn save(&self, update: &PermissionUpdate) -> Result<(), ErrorData> {
        let Some(layer) = layer(update.destination()) else { return Ok(()) };
        self.update(layer, update).map_err(|error| error.to_data())
    }
}
