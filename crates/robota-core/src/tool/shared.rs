//! Descriptions that are equal exist once: a process with thousands of sessions has few kinds of tools.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::ToolSpec;

static SPECS: Mutex<Vec<Weak<ToolSpec>>> = Mutex::new(Vec::new());
static LISTS: Mutex<Vec<Weak<[ToolSpec]>>> = Mutex::new(Vec::new());

/// Returns a description that all tools with an equal one share.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::permission::Class;
/// use robota_core::tool::{ToolSpec, shared_spec};
///
/// let spec = || ToolSpec {
///     name: "Read".to_owned(),
///     description: "Reads a file.".to_owned(),
///     input_schema: serde_json::json!({"type": "object"}),
///     class: Class::Inspect,
/// };
/// let first = shared_spec(spec());
/// assert!(Arc::ptr_eq(&first, &shared_spec(spec())));
/// ```
#[must_use]
pub fn shared_spec(spec: ToolSpec) -> Arc<ToolSpec> {
    let mut known = SPECS.lock().unwrap_or_else(PoisonError::into_inner);
    let same = known.iter().filter_map(Weak::upgrade).find(|it| **it == spec);
    same.unwrap_or_else(|| {
        known.retain(|it| it.strong_count() > 0);
        let spec = Arc::new(spec);
        known.push(Arc::downgrade(&spec));
        spec
    })
}

/// Returns a list of descriptions that all sets with an equal one share.
pub(crate) fn shared_list(specs: &[&ToolSpec]) -> Arc<[ToolSpec]> {
    let mut known = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    let same = known
        .iter()
        .filter_map(Weak::upgrade)
        .find(|list| list.len() == specs.len() && list.iter().zip(specs).all(|(a, b)| a == *b));
    same.unwrap_or_else(|| {
        known.retain(|it| it.strong_count() > 0);
        let list: Arc<[ToolSpec]> = specs.iter().map(|spec| (*spec).clone()).collect();
        known.push(Arc::downgrade(&list));
        list
    })
}
