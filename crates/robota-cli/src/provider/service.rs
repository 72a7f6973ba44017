//! Builds the provider of a selected service.

use std::sync::Arc;

use anyhow::Context as _;
use robota_core::catalogue::Catalogue;
use robota_providers::{
    Credentials, Host, KeyHelper, KeySource as _, ProviderSettings, Vendors, build,
};

use super::environment::Variables;
use super::key_helper::CommandKey;
use super::{ChosenProvider, DEFAULT_IDLE_TIMEOUT, Selection, Service, profile_settings};
use crate::setup::Setup;
use robota_sdk::CallSettings;

/// Builds the provider: its vendor, model, key and address. Sends no request. `helper` gives the key
/// if nothing else does.
pub(super) async fn prepare(
    selection: Selection,
    model: Option<&str>,
    setup: &Setup,
    (vendors, host): (&Vendors, &Host),
    helper: Option<Arc<CommandKey>>,
) -> anyhow::Result<ChosenProvider> {
    let (vendor, mut settings, selected_by) = match selection {
        Selection::Profile(active, selected_by) => {
            let vendor = vendors
                .require(&active.kind)
                .with_context(|| format!("settings key `providers.{}.type`", active.name))?;
            let (settings, _) = profile_settings(&active, setup)?;
            (Arc::clone(vendor), settings, selected_by)
        }
        Selection::Vendor(vendor, selected_by) => {
            let model = super::names::model_of_settings(setup);
            (vendor, ProviderSettings { model, ..ProviderSettings::default() }, selected_by)
        }
    };
    Variables::new(setup).fill_in(&vendor, &mut settings)?;
    let has_key = settings.api_key.is_some() || settings.credentials.is_some();
    // A model server on this machine would receive a key that it must not know.
    let helper = helper.filter(|_| !has_key && !vendor.local);
    if let Some(helper) = &helper {
        settings.credentials = Some(Credentials::Helper(KeyHelper::new(helper.clone())));
    }
    if let Some(model) = model {
        settings.model = Some(model.to_owned());
    }
    let default = || {
        // A run that names no model gets the vendor's, if that is available.
        let available = &setup.settings.available_models;
        let usual = vendor.default_model.clone();
        let usual = usual.filter(|model| available.check(Some(&vendor.vendor), model).is_ok());
        let listed = || available.first_of(&vendor.vendor, Catalogue::builtin());
        usual.or_else(listed).or_else(|| vendor.default_model.clone())
    };
    let model = settings.model.clone().or_else(default).with_context(|| {
        format!(
            "{} has no default model; pass --model (`robota models --provider {}` lists the models)",
            vendor.name, vendor.vendor
        )
    })?;
    let timeout = settings.timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT);
    let mut secrets: Vec<_> = settings
        .api_key
        .iter()
        .chain(settings.headers.iter().map(|(_, value)| value))
        .cloned()
        .collect();
    if let Some(helper) = &helper {
        // Sessions redact it already; commands do not get variables that contain it.
        secrets.push(helper.key(false).await.map_err(anyhow::Error::msg)?);
    }
    settings.betas.clone_from(&setup.betas);
    let http = build(&vendor, settings, host)?;
    let service = Some(Service { http: http.clone(), vendor, selected_by });
    let calls = CallSettings::default();
    Ok(ChosenProvider { provider: http, service, model, timeout, secrets, calls })
}
