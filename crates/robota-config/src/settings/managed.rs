//! What the administrator allows of the settings of others.

use serde_json::Value;

use super::RuleList;
use crate::files::Source;
use crate::layer::Layer;
use crate::report::IgnoreReason;
use crate::validate::Entry;

/// What the managed settings say about those of the user and of the project.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    rules_only: bool,
    hooks_only: bool,
    /// A list of models replaces those of others.
    lists_models: bool,
    /// The user turns hooks off, but those of the administrator run.
    user_disables_hooks: bool,
}

impl Limits {
    pub(super) fn of(sources: &[Source]) -> Self {
        let is_true = |layers: &dyn Fn(Layer) -> bool, name: &str| {
            let read = sources.iter().filter(|source| layers(source.layer));
            let mut entries = read.flat_map(|source| &source.checked.entries);
            entries.any(|entry| {
                entry.path.names() == [name] && entry.content.to_value() == Value::Bool(true)
            })
        };
        let by_managed = |name: &str| is_true(&|layer| layer == Layer::Managed, name);
        // Of a checkout the key has no effect.
        let of_user = is_true(
            &|layer| layer != Layer::Managed && layer.scope() == crate::layer::LayerScope::User,
            DISABLE,
        );
        let managed = sources.iter().filter(|source| source.layer == Layer::Managed);
        let mut entries = managed.flat_map(|source| &source.checked.entries);
        let has_hooks = entries.clone().any(is_hook);
        Self {
            rules_only: by_managed("allowManagedPermissionRulesOnly"),
            hooks_only: by_managed("allowManagedHooksOnly"),
            lists_models: entries.any(is_list_of_models),
            user_disables_hooks: has_hooks && of_user && !by_managed(DISABLE),
        }
    }

    /// Returns whether hooks of the administrator run although the user turns hooks off.
    pub(super) fn keeps_hooks(self) -> bool {
        self.user_disables_hooks
    }

    /// Returns whether the administrator lists the models, so that other lists do not count.
    pub(super) fn lists_models(self) -> bool {
        self.lists_models
    }

    /// Returns whether only the hooks of the administrator run.
    pub(super) fn hooks_only(self) -> bool {
        self.hooks_only || self.user_disables_hooks
    }

    /// Returns why the administrator does not allow an entry, if so. Restrictions always apply.
    pub(super) fn admit(self, entry: &Entry) -> Result<(), IgnoreReason> {
        let refused = (self.rules_only && entry.path == RuleList::Allow.key())
            || (self.hooks_only() && is_hook(entry))
            || (self.lists_models && is_list_of_models(entry));
        match entry.origin.layer {
            Layer::Managed => Ok(()),
            _ if refused => Err(IgnoreReason::NotManaged),
            _ => Ok(()),
        }
    }
}

const DISABLE: &str = "disableAllHooks";

fn is_list_of_models(entry: &Entry) -> bool {
    entry.path.names() == [super::MODELS]
}

fn is_hook(entry: &Entry) -> bool {
    entry.path.names().first().is_some_and(|name| name == "hooks")
}
