//! From what names a service to the service.

use std::sync::Arc;

use anyhow::Context as _;
use robota_providers::{Host, ProviderSettings, Vendors, build};

use super::environment::Variables;
use super::{Chosen, Named, SILENCE, Service, from_profile};
use crate::setup::Setup;

/// Makes the service ready. Nothing is sent.
pub(super) fn service(
    named: Named,
    model: Option<&str>,
    setup: &Setup,
    vendors: &Vendors,
    host: &Host,
) -> anyhow::Result<Chosen> {
    let (vendor, mut settings, because) = match named {
        Named::Profile(active, because) => {
            let vendor = vendors
                .require(&active.kind)
                .with_context(|| format!("the settings' profile `{}`", active.name))?;
            let (settings, _) = from_profile(&active, setup)?;
            (Arc::clone(vendor), settings, because)
        }
        Named::Vendor(vendor, because) => {
            let model = setup.settings.values.model.clone();
            (vendor, ProviderSettings { model, ..ProviderSettings::default() }, because)
        }
    };
    Variables::of(setup).complete(&vendor, &mut settings);
    if let Some(model) = model {
        settings.model = Some(model.to_owned());
    }
    let model = settings.model.clone().or_else(|| vendor.default_model.clone()).with_context(|| {
        format!(
            "{} needs a model: name one with --model (`robota models --provider {}` lists them)",
            vendor.name, vendor.vendor
        )
    })?;
    let timeout = settings.timeout.unwrap_or(SILENCE);
    let secrets = settings
        .api_key
        .iter()
        .chain(settings.headers.iter().map(|(_, value)| value))
        .cloned()
        .collect();
    let http = build(&vendor, settings, host)?;
    let service = Some(Service { http: http.clone(), vendor, because });
    Ok(Chosen { provider: http, service, model, timeout, secrets })
}
