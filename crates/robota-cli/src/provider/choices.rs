//! The models that a client can choose from.

use robota_core::catalogue::Catalogue;
use robota_sdk::host::ModelChoice;

/// Returns the model in use, then the other models of its vendor.
pub(crate) fn model_choices(vendor: Option<&str>, current: &str) -> Vec<ModelChoice> {
    let catalogue = Catalogue::builtin();
    let of_vendor = catalogue
        .models()
        .filter(|model| vendor.is_some_and(|name| model.vendor.eq_ignore_ascii_case(name)))
        .filter(|model| model.lifecycle.selectable() && model.id != current)
        .map(|model| ModelChoice { id: model.id.clone(), name: model.name.clone() });
    let name = catalogue.name(current).to_owned();
    let first = ModelChoice { id: current.to_owned(), name };
    std::iter::once(first).chain(of_vendor).collect()
}
