//! Writes changes of permissions to settings files, through the settings writer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use robota_config::{
    ConfigError, KeyPath, Layer, RuleList, SettingsWriter, TrustStore, rule_check,
};
use robota_core::approve::RuleSink;
use robota_core::clock::SystemClock;
use robota_core::error::{Diagnose as _, ErrorData};
use robota_core::hook::HookData;
use robota_sdk::config_change;

use crate::setup::Setup;

/// Saves rules in the files of a working folder and of its user.
pub(crate) struct SavedRules {
    setup: Arc<Setup>,
    /// The files for rules that will be saved, by the rules.
    expected: Mutex<HashMap<Vec<String>, Vec<Layer>>>,
}

impl SavedRules {
    /// Creates a sink for the settings of a run.
    pub(crate) fn new(setup: Arc<Setup>) -> Self {
        Self { setup, expected: Mutex::default() }
    }

    /// Returns the folders of the workspace.
    pub(crate) fn workspace(&self) -> Vec<PathBuf> {
        let workspace = self.setup.workspace();
        std::iter::once(workspace.cwd).chain(workspace.additional).collect()
    }

    /// Says where these rules are to be saved, before the approval that saves them.
    pub(crate) fn expect(&self, rules: Vec<String>, layers: Vec<Layer>) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).insert(rules, layers);
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

    fn write(
        &self,
        change: impl FnOnce(&mut SettingsWriter<'_>) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let places = &self.setup.places;
        let mut trust = TrustStore::load(places);
        change(&mut SettingsWriter { places, trust: &mut trust, clock: &SystemClock })
    }
}

#[async_trait::async_trait]
impl RuleSink for SavedRules {
    fn events(&self, rules: &[String]) -> Vec<HookData> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let layers = expected.get(rules).map_or(&[Layer::ProjectRobotaLocal][..], Vec::as_slice);
        layers.iter().map(|layer| config_change(&self.setup.places, *layer)).collect()
    }

    async fn save(&self, rules: &[String]) -> Result<(), ErrorData> {
        let layers = self.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(rules);
        for layer in layers.unwrap_or_else(|| vec![Layer::ProjectRobotaLocal]) {
            self.add(layer, RuleList::Allow, rules).map_err(|error| error.to_data())?;
        }
        Ok(())
    }
}
