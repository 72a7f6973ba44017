//! Chooses the vendor of a model among those that variables configure. A prompt must never go to
//! another company than the one whose model was asked for.

use std::sync::Arc;

use robota_core::catalogue::Catalogue;
use robota_core::env_ref::Lookup;

use super::{configured, get};
use crate::error::BuildError;
use crate::profile::{Profile, Vendors};

/// Returns the vendor for a model, and the variable that configures it: the model's maker if one of its
/// variables is set, else the only service that offers models of many makers. `None` if no variable
/// configures one, or if the model is open and may run on this machine.
///
/// # Errors
/// When several services may have the model, or only services that do not have it are configured.
pub fn vendor_for_model(
    vendors: &Vendors,
    model: &str,
    lookup: Lookup<'_>,
) -> Result<Option<(Arc<Profile>, String)>, BuildError> {
    let configured = configured(vendors, lookup);
    let makers = makers(vendors, model);
    let entry = Catalogue::builtin().find(model).map(|found| found.model);
    // The maker comes first, also if a marketplace is configured: no other company then sees the
    // prompt.
    if let Some(own) = configured.iter().find(|(vendor, _)| is_in(&makers, vendor)) {
        return Ok(Some(own.clone()));
    }
    // Without a maker, any service may have the model.
    let others: Vec<_> = configured
        .iter()
        .filter(|(vendor, _)| entry.is_none() && makers.is_empty() || serves_others(vendor, lookup))
        .collect();
    let open = entry.is_some_and(|model| model.open_weights);
    match others.as_slice() {
        [one] => Ok(Some((*one).clone())),
        [] if configured.is_empty() || open => Ok(None),
        [] => Err(BuildError::ModelOfAnotherVendor {
            model: model.to_owned(),
            makers: match entry {
                Some(entry) => entry.vendor.clone(),
                None => names(makers.iter()),
            },
            variables: variables(&makers),
            configured: names(configured.iter().map(|(vendor, _)| vendor)),
        }),
        several => Err(BuildError::AmbiguousModel {
            model: model.to_owned(),
            choices: several
                .iter()
                .map(|(vendor, _)| format!("{}/{model}", vendor.vendor))
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// Returns whether a vendor may get requests for a model: it makes the model, it offers models of many
/// makers, or nothing is known about the model. `at_own_host` is false for a gateway's address.
#[must_use]
pub fn may_have_model(vendors: &Vendors, vendor: &Profile, at_own_host: bool, model: &str) -> bool {
    let makers = makers(vendors, model);
    let unknown = makers.is_empty() && Catalogue::builtin().find(model).is_none();
    unknown
        || !at_own_host
        || vendor.local
        || vendor.catalogue_vendor.is_none()
        || makers.iter().any(|maker| maker.vendor == vendor.vendor)
}

/// Returns the vendors that make a model: those of its entry in the catalogue, or those whose name the
/// model's name begins with, for models that are newer than the catalogue.
fn makers(vendors: &Vendors, model: &str) -> Vec<Arc<Profile>> {
    let maker = Catalogue::builtin().find(model).map(|found| found.model.vendor.as_str());
    // Marketplaces write the maker before the model: `meta-llama/llama-4`.
    let name = model.rsplit('/').next().unwrap_or(model);
    let end = name.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(name.len());
    let listed =
        |vendor: &&Arc<Profile>| maker.is_some() && vendor.catalogue_vendor.as_deref() == maker;
    let named = |vendor: &&Arc<Profile>| !vendor.local && vendor.matches_name(&name[..end]);
    let makers: Vec<_> = vendors.iter().filter(listed).cloned().collect();
    if makers.is_empty() { vendors.iter().filter(named).cloned().collect() } else { makers }
}

/// Returns whether a configured vendor offers models of other makers: it is a marketplace, or its
/// address is that of a gateway.
fn serves_others(vendor: &Profile, lookup: Lookup<'_>) -> bool {
    vendor.catalogue_vendor.is_none()
        || vendor.base_url_env.iter().any(|name| get(lookup, name).is_some())
}

fn is_in(makers: &[Arc<Profile>], vendor: &Profile) -> bool {
    makers.iter().any(|maker| maker.vendor == vendor.vendor)
}

fn names<'a>(vendors: impl Iterator<Item = &'a Arc<Profile>>) -> String {
    vendors.map(|vendor| vendor.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn variables(makers: &[Arc<Profile>]) -> String {
    let first = makers.iter().filter_map(|maker| maker.api_key_env.first());
    first.map(String::as_str).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests;
