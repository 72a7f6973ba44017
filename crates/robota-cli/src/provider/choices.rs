//! The models that a client can choose from.

use robota_config::AvailableModels;
use robota_core::catalogue::Catalogue;
use robota_sdk::host::ModelChoice;

/// Returns the model in use, then the other models of its vendor that are available.
pub(crate) fn model_choices(
    vendor: Option<&str>,
    current: &str,
    available: &AvailableModels,
) -> Vec<ModelChoice> {
    let catalogue = Catalogue::builtin();
    let of_vendor = catalogue
        .models()
        .filter(|model| vendor.is_some_and(|name| model.vendor.eq_ignore_ascii_case(name)))
        .filter(|model| model.lifecycle.selectable() && model.id != current)
        .filter(|model| available.check(Some(&model.vendor), &model.id).is_ok())
        .map(|model| ModelChoice { id: model.id.clone(), name: model.name.clone() });
    let name = catalogue.name(current).to_owned();
    let first = ModelChoice { id: current.to_owned(), name };
    std::iter::once(first).chain(of_vendor).collect()
}
