//! What the environment says about services: keys, addresses, proxies, certificates.

use std::sync::Arc;

use anyhow::Context as _;
use robota_providers::{Profile, ProviderSettings, Transport, Vendors, environment};

use crate::setup::Setup;

/// The variables, those of the settings before those of the process.
pub(super) struct Variables<'a> {
    setup: &'a Setup,
}

impl<'a> Variables<'a> {
    /// Those that hold here.
    pub(super) fn of(setup: &'a Setup) -> Self {
        Self { setup }
    }

    /// The value of a variable; one that is empty is not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = match self.setup.settings.values.env.get(name) {
            Some(value) => Some(value.as_str()),
            None => self.setup.environment.get(name),
        };
        value.filter(|value| !value.trim().is_empty())
    }

    /// The first vendor whose key or address is set, and the variable that sets it.
    pub(super) fn first_vendor(&self, vendors: &Vendors) -> Option<(Arc<Profile>, String)> {
        environment::first_vendor(vendors, &|name| self.get(name).map(str::to_owned))
    }

    /// Fills in the key, address and model that the settings leave out.
    pub(super) fn complete(&self, vendor: &Profile, settings: &mut ProviderSettings) {
        environment::complete(vendor, settings, &|name| self.get(name).map(str::to_owned));
    }

    /// Proxy and certificates.
    pub(super) fn transport(&self) -> anyhow::Result<Transport> {
        let mut transport = environment::transport(&|name| self.get(name).map(str::to_owned));
        for name in environment::CERTIFICATE_FILES {
            if let Some(file) = self.get(name) {
                let bytes = std::fs::read(file);
                transport
                    .certificates
                    .push(bytes.with_context(|| format!("cannot read {name}={file}"))?);
            }
        }
        Ok(transport)
    }
}
