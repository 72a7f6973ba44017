//! Reads keys, addresses, models, proxies and certificates from variables.

use std::sync::Arc;

use anyhow::Context as _;
use robota_core::env_ref::Secret;
use robota_providers::{Auth, Profile, ProviderSettings, Transport, Vendors};

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

    /// Returns the value of a variable. An empty or blank value counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = match self.setup.settings.values.env.get(name) {
            Some(value) => Some(value.as_str()),
            None => self.setup.environment.get(name),
        };
        value.filter(|value| !value.trim().is_empty())
    }

    fn first_set(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Returns the first vendor whose key or address is set, and the variable that sets it.
    pub(super) fn first_vendor(&self, vendors: &Vendors) -> Option<(Arc<Profile>, String)> {
        vendors.iter().find_map(|vendor| {
            let keys = if vendor.local { &[][..] } else { &vendor.api_key_env[..] };
            let variable =
                keys.iter().chain(&vendor.base_url_env).find(|name| self.get(name).is_some())?;
            Some((Arc::clone(vendor), variable.clone()))
        })
    }

    /// Fills in the key, address and model that the settings do not give.
    pub(super) fn fill_in(&self, vendor: &Profile, settings: &mut ProviderSettings) {
        if settings.api_key.is_none()
            && let Some(name) = vendor.api_key_env.iter().find(|name| self.get(name).is_some())
        {
            settings.api_key = self.get(name).map(Secret::new);
            // An auth token is always a bearer token, even if the vendor's key has another header.
            if name.ends_with("_AUTH_TOKEN") && settings.auth.is_none() {
                settings.auth = Some(Auth::Bearer);
            }
        }
        if settings.base_url.is_none() {
            let name = vendor.base_url_env.iter().find(|name| self.get(name).is_some());
            settings.base_url = name.and_then(|name| self.get(name)).map(str::to_owned);
        }
        if settings.model.is_none() {
            let name = format!("{}_MODEL", vendor.vendor.to_ascii_uppercase());
            settings.model = self.get(&name).map(str::to_owned);
        }
    }

    /// Reads proxy and certificates from the variables that other programs use, too.
    pub(super) fn transport(&self) -> anyhow::Result<Transport> {
        let proxy =
            ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];
        let mut certificates = Vec::new();
        for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
            if let Some(file) = self.get(name) {
                certificates.push(
                    std::fs::read(file).with_context(|| format!("cannot read {name}={file}"))?,
                );
            }
        }
        Ok(Transport {
            proxy: self.first_set(&proxy).map(str::to_owned),
            no_proxy: self.first_set(&["NO_PROXY", "no_proxy"]).map(str::to_owned),
            certificates,
            ..Transport::default()
        })
    }
}
