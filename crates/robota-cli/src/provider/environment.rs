//! Reads keys, addresses, models, proxies and certificates from variables.

use std::sync::Arc;

use robota_providers::{
    BuildError, HttpClientOptions, Profile, ProviderSettings, Vendors, environment,
};

use crate::setup::Setup;

/// The environment variables; the `env` settings override those of the process.
pub(super) struct Variables<'a> {
    setup: &'a Setup,
}

impl<'a> Variables<'a> {
    /// Returns the variables of a setup.
    pub(super) fn new(setup: &'a Setup) -> Self {
        Self { setup }
    }

    /// Returns the value of a variable, or the key that is stored under its name. An empty or
    /// blank value counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let value = match self.setup.settings.values.env.get(name) {
            Some(value) => Some(value.clone()),
            None => self.setup.environment.get(name).map(str::to_owned),
        };
        // CI systems set a variable without a value to an empty text.
        let set = value.filter(|value| !value.trim().is_empty());
        set.or_else(|| self.setup.keys.get(name))
    }

    /// Returns the first vendor whose key or address is set, and the variable that sets it.
    pub(super) fn first_vendor(&self, vendors: &Vendors) -> Option<(Arc<Profile>, String)> {
        environment::first_vendor(vendors, &|name| self.get(name))
    }

    /// Returns the vendor of a model among those that variables configure.
    pub(super) fn vendor_for_model(
        &self,
        vendors: &Vendors,
        model: &str,
    ) -> Result<Option<(Arc<Profile>, String)>, BuildError> {
        environment::vendor_for_model(vendors, model, &|name| self.get(name))
    }

    /// Fills in the key, address and model that the settings leave out.
    pub(super) fn fill_in(
        &self,
        vendor: &Profile,
        settings: &mut ProviderSettings,
    ) -> Result<(), BuildError> {
        environment::complete(vendor, settings, &|name| self.get(name))
    }

    /// Reads proxy and certificates from the variables that other programs use, too.
    pub(super) fn transport(&self) -> Result<HttpClientOptions, BuildError> {
        environment::transport(&|name| self.get(name))
    }
}
