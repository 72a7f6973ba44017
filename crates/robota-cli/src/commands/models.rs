//! `robota models`: lists models and where each list comes from.

use std::sync::Arc;

use robota_core::catalogue::{Catalogue, format_tokens};
use robota_providers::{CatalogueStatus, ModelCatalogue, Profile, known_models};
use serde_json::{Value, json};

use crate::args::ModelsArgs;
use crate::provider::{self, ProviderRequest, WantedModel};
use crate::setup::Setup;
use crate::{Exit, output};

/// Lists the models of the selected provider, or of every vendor.
pub(crate) async fn run(args: ModelsArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let catalogue = Catalogue::builtin();
    let mut lists = Vec::new();
    if args.all {
        for vendor in provider::vendors(&setup)?.iter() {
            lists.push((Arc::clone(vendor), known_models(vendor, catalogue), None));
        }
    } else {
        lists.push(provider_models(&args, &setup, catalogue).await?);
    }
    for (vendor, models, _) in &mut lists {
        let available = &setup.settings.available_models;
        models.entries.retain(|it| available.check(Some(&vendor.vendor), &it.id).is_ok());
    }
    if args.json {
        let lists: Vec<_> = lists
            .iter()
            .map(|(vendor, models, problem)| {
                let mut value =
                    json!({"provider": vendor.vendor, "name": vendor.name, "models": models});
                if let (Some(problem), Value::Object(fields)) = (problem, &mut value) {
                    fields.insert("problem".to_owned(), problem.as_str().into());
                }
                value
            })
            .collect();
        output::line(&Value::from(lists).to_string());
        return Ok(Exit::Ok);
    }
    for (vendor, models, problem) in &lists {
        show(vendor, models, problem.as_deref());
    }
    Ok(Exit::Ok)
}

/// Returns the models that the provider's service lists, or the built-in list if it has none or
/// cannot be reached. The text is the reason why the built-in list is used.
async fn provider_models(
    args: &ModelsArgs,
    setup: &Setup,
    catalogue: &Catalogue,
) -> anyhow::Result<(Arc<Profile>, ModelCatalogue, Option<String>)> {
    let request = ProviderRequest { provider: args.provider.as_deref(), model: WantedModel::Any };
    let vendors = provider::vendors(setup)?;
    let chosen = match provider::choose(request, setup).await {
        Ok(chosen) => chosen,
        // Without a key the service cannot be asked, but the built-in list can be shown.
        Err(error) => match args.provider.as_deref().and_then(|name| vendors.find(name)) {
            Some(vendor) => {
                let known = known_models(vendor, catalogue);
                return Ok((Arc::clone(vendor), known, Some(format!("{error:#}"))));
            }
            None => return Err(error),
        },
    };
    let Some(service) = chosen.service else {
        anyhow::bail!("a scripted provider has no model list");
    };
    let (models, problem) = match service.http.models().await {
        Ok(Some(models)) => (models, None),
        Ok(None) => (known_models(&service.vendor, catalogue), None),
        Err(error) => (known_models(&service.vendor, catalogue), Some(error.to_string())),
    };
    Ok((service.vendor, models, problem))
}

fn show(vendor: &Profile, models: &ModelCatalogue, problem: Option<&str>) {
    let freshness = match models.status {
        CatalogueStatus::Live => "from the service",
        CatalogueStatus::Generated => "generated list",
        CatalogueStatus::Fallback => "built-in list, may be outdated",
        CatalogueStatus::Unavailable => "no list available",
    };
    output::line(&format!("{} ({}) — {freshness}", vendor.name, vendor.vendor));
    if let Some(problem) = problem {
        output::note(&format!("robota: {problem}"));
    }
    for entry in &models.entries {
        let window = entry.context_window.map(format_tokens).unwrap_or_else(|| "?".to_owned());
        let default = match &vendor.default_model {
            Some(model) if *model == entry.id => "  (default)",
            _ => "",
        };
        let id = &entry.id;
        output::line(format!("  {id:<44} {window:>6}{default}").trim_end());
    }
}
