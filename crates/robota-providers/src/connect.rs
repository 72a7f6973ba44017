//! A provider from a model's name.

use std::sync::Arc;

use robota_core::env_ref::Lookup;

use crate::environment;
use crate::error::BuildError;
use crate::host::Host;
use crate::profile::{Profile, Vendors};
use crate::provider::{HttpProvider, build};
use crate::settings::ProviderSettings;

/// Builds the provider of a model that is named `vendor/model`, and returns it with the name of the
/// model. Nothing is sent yet.
///
/// # Errors
/// When the vendor is unknown, or the settings cannot work.
pub fn connect(
    model: &str,
    settings: ProviderSettings,
    host: &Host,
) -> Result<(Arc<HttpProvider>, String), BuildError> {
    let vendors = Vendors::builtin();
    let Some((vendor, model)) = vendors.split_model(model) else {
        let name = model.split('/').next().unwrap_or_default().to_owned();
        return Err(BuildError::UnknownVendor { name, supported: vendors.supported() });
    };
    finish(vendor, ProviderSettings { model: Some(model.to_owned()), ..settings }, host)
}

/// Builds the provider that the environment names: the first vendor whose key or address is set,
/// with the model of `{VENDOR}_MODEL` or the vendor's default model.
///
/// # Errors
/// When no variable of any vendor is set, or the settings cannot work.
pub fn connect_from(
    lookup: Lookup<'_>,
    host: &Host,
) -> Result<(Arc<HttpProvider>, String), BuildError> {
    let vendors = Vendors::builtin();
    let Some((vendor, _)) = environment::first_vendor(&vendors, lookup) else {
        // Local servers have no key, so their variables would not help here.
        let keys = vendors.iter().filter(|vendor| !vendor.local);
        let keys =
            keys.filter_map(|vendor| vendor.api_key_env.first().cloned()).collect::<Vec<_>>();
        return Err(BuildError::NoVendor { variables: keys.join(", ") });
    };
    let mut settings = ProviderSettings::default();
    environment::complete(&vendor, &mut settings, lookup)?;
    finish(&vendor, settings, host)
}

fn finish(
    vendor: &Profile,
    settings: ProviderSettings,
    host: &Host,
) -> Result<(Arc<HttpProvider>, String), BuildError> {
    let provider = build(vendor, settings, host)?;
    let model = provider.model().map(str::to_owned);
    let model = model.ok_or_else(|| BuildError::NoModel { vendor: vendor.name.clone() })?;
    Ok((provider, model))
}

#[cfg(test)]
mod tests;
