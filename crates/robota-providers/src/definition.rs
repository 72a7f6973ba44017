//! Provider definitions (CORE-05): each vendor as data for set-up, model lists and settings checks.

mod types;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use robota_core::catalogue::Catalogue;
use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::provider::{Provider, ProviderConfig};

pub use types::{
    CatalogueStatus, CredentialRequirement, Factory, HelpLink, HelpLinkKind, ModelCatalogue,
    ModelEntry, ProbeHook, ProbeReport, ProviderDefaults, ProviderDefinition, RefreshHook,
    Refreshed, SetupField, SetupPrompt, find_definition, format_supported, require_definition,
};

use crate::error::BuildError;
use crate::host::Host;
use crate::profile::{Profile, Vendors};
use crate::provider::{HttpProvider, build};
use crate::settings::ProviderSettings;

/// Returns the definitions of all vendors.
#[must_use]
pub fn definitions(vendors: &Vendors, host: &Host) -> Vec<ProviderDefinition<dyn Provider>> {
    vendors.iter().map(|profile| definition(profile, host)).collect()
}

/// Returns the definition of one vendor.
#[must_use]
pub fn definition(profile: &Arc<Profile>, host: &Host) -> ProviderDefinition<dyn Provider> {
    let factory_for = |profile: &Arc<Profile>, host: &Host| {
        let (profile, host) = (Arc::clone(profile), host.clone());
        move |config: &ProviderConfig| -> Result<Arc<HttpProvider>, ErrorData> {
            let settings =
                ProviderSettings::from_config(config).map_err(|error| error.to_data())?;
            build(&profile, settings, &host).map_err(|error| error.to_data())
        }
    };
    let create = factory_for(profile, host);
    let mut definition =
        ProviderDefinition::<dyn Provider>::new(&profile.vendor, &profile.name, move |config| {
            create(config).map(|provider| provider as Arc<dyn Provider>)
        });
    definition.aliases.clone_from(&profile.aliases);
    definition.defaults = ProviderDefaults {
        model: profile.default_model.clone(),
        base_url: profile.base_url.clone(),
        api_key_env: profile.api_key_env.clone(),
        timeout: None,
    };
    definition.setup.clone_from(&profile.setup);
    definition.help_links.clone_from(&profile.help_links);
    definition.credential = profile.credential;
    definition.models = known_models(profile, Catalogue::builtin());
    if profile.models_path.is_some() {
        let create = factory_for(profile, host);
        definition.refresh = Some(Arc::new(move |config| {
            let provider = create(&config);
            async move {
                let models = provider?.models().await.map_err(|error| error.to_data())?;
                // A vendor with a path for lists can still answer without one, for example a
                // gateway.
                models.ok_or_else(|| {
                    ErrorData::new(ErrorKind::Configuration, "this service has no list of models")
                })
            }
            .boxed()
        }));
    }
    let create = factory_for(profile, host);
    let vendor = profile.name.clone();
    definition.probe = Some(Arc::new(move |config| {
        let provider = create(&config);
        let vendor = vendor.clone();
        async move {
            let provider = provider?;
            let model = provider
                .model()
                .ok_or_else(|| BuildError::NoModel { vendor: vendor.clone() }.to_data())?
                .to_owned();
            let probe = provider.probe(&model).await.map_err(|error| error.to_data())?;
            let tools = if probe.calls_tools {
                "calls tools"
            } else {
                "did not call the tool it was asked to"
            };
            let message =
                format!("{vendor} answered in {} ms and {tools}", probe.total.as_millis());
            Ok(ProbeReport { message, model: Some(model) })
        }
        .boxed()
    }));
    definition
}

/// Returns the models that are known without a request: those in the vendor's file, and those in
/// the built-in catalogue that the vendor itself serves. The catalogue has a price for exactly
/// those.
#[must_use]
pub fn known_models(profile: &Profile, catalogue: &Catalogue) -> ModelCatalogue {
    let mut models = profile.models.clone().unwrap_or_else(|| ModelCatalogue {
        source: "built in".to_owned(),
        ..ModelCatalogue::default()
    });
    if let Some(vendor) = &profile.catalogue_vendor {
        let served =
            catalogue.models().filter(|model| model.vendor == *vendor && model.prices.is_some());
        for model in served {
            models.entries.push(ModelEntry {
                id: model.id.clone(),
                name: Some(model.name.clone()),
                lifecycle: model.lifecycle,
                capabilities: model.capabilities.clone(),
                context_window: model.context_window,
                max_output: model.max_output,
            });
        }
    }
    if models.status == CatalogueStatus::Unavailable && !models.entries.is_empty() {
        models.status = CatalogueStatus::Fallback;
    }
    models
}

/// A model server that was found on this machine.
#[derive(Debug, Clone)]
pub struct LocalServer {
    /// The vendor profile of the server.
    pub profile: Arc<Profile>,
    /// The models that the server reported just now.
    pub models: ModelCatalogue,
}

/// Looks for the vendors that run on the user's own machine at their usual addresses. All addresses
/// are queried in parallel; a server that does not answer within `limit` is not reported.
pub async fn find_local(vendors: &Vendors, host: &Host, limit: Duration) -> Vec<LocalServer> {
    let queries = vendors.local().map(|profile| async move {
        let provider = build(profile, ProviderSettings::default(), host).ok()?;
        let models = tokio::time::timeout(limit, provider.models()).await.ok()?.ok()??;
        Some(LocalServer { profile: Arc::clone(profile), models })
    });
    futures::future::join_all(queries).await.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
