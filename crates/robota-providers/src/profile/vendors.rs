//! The vendors there are.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::Profile;
use crate::error::BuildError;
use crate::json::merge;

/// One line per file of `data/vendors`, in the order in which they are offered.
const FILES: &[(&str, &str)] = &[
    ("anthropic", include_str!("../../data/vendors/anthropic.json")),
    ("openai", include_str!("../../data/vendors/openai.json")),
    ("gemini", include_str!("../../data/vendors/gemini.json")),
    ("deepseek", include_str!("../../data/vendors/deepseek.json")),
    ("qwen", include_str!("../../data/vendors/qwen.json")),
    ("openrouter", include_str!("../../data/vendors/openrouter.json")),
    ("groq", include_str!("../../data/vendors/groq.json")),
    ("mistral", include_str!("../../data/vendors/mistral.json")),
    ("xai", include_str!("../../data/vendors/xai.json")),
    ("together", include_str!("../../data/vendors/together.json")),
    ("azure", include_str!("../../data/vendors/azure.json")),
    ("ollama", include_str!("../../data/vendors/ollama.json")),
    ("lmstudio", include_str!("../../data/vendors/lmstudio.json")),
    ("llamacpp", include_str!("../../data/vendors/llamacpp.json")),
    ("vllm", include_str!("../../data/vendors/vllm.json")),
    ("gemma", include_str!("../../data/vendors/gemma.json")),
    ("custom", include_str!("../../data/vendors/custom.json")),
];

/// What a user's vendor is when it says nothing else.
const CUSTOM: &str = "custom";

static BUILTIN: LazyLock<Vendors> = LazyLock::new(|| Vendors {
    // A test reads every file, so nothing is left out here.
    profiles: FILES
        .iter()
        .filter_map(|(_, text)| serde_json::from_str(text).ok())
        .map(Arc::new)
        .collect(),
});

/// The vendors there are: the built-in ones and the user's.
#[derive(Debug, Clone, PartialEq)]
pub struct Vendors {
    profiles: Vec<Arc<Profile>>,
}

impl Vendors {
    /// Those that come with the program.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// The same with one more, from a settings file: the fields of a profile, of which `type`
    /// is needed. What it does not say is as in the vendor it `extends`, or as in `custom`. One
    /// of the same type is replaced.
    ///
    /// # Errors
    /// When a field is unknown or wrong, or it extends what does not exist.
    pub fn with_user(mut self, vendor: &Value) -> Result<Self, BuildError> {
        let name = vendor.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let wrong = |reason: String| BuildError::Profile { name: name.clone(), reason };
        if name.is_empty() {
            return Err(wrong("it has no `type`".to_owned()));
        }
        let mut theirs = vendor.clone();
        let base = match theirs.as_object_mut().and_then(|fields| fields.shift_remove("extends")) {
            None => CUSTOM.to_owned(),
            Some(Value::String(base)) => base,
            Some(_) => return Err(wrong("`extends` must be the name of a vendor".to_owned())),
        };
        let base = self.require(&base)?;
        let mut merged =
            serde_json::to_value(base.as_ref()).map_err(|error| wrong(error.to_string()))?;
        // What names the other one is not inherited.
        merge(&mut merged, &serde_json::json!({"aliases": null, "name": name}));
        merge(&mut merged, &theirs);
        let profile: Profile =
            serde_json::from_value(merged).map_err(|error| wrong(error.to_string()))?;
        self.profiles.retain(|known| !known.vendor.eq_ignore_ascii_case(&profile.vendor));
        self.profiles.push(Arc::new(profile));
        Ok(self)
    }

    /// Every vendor.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.iter()
    }

    /// Those that run on the user's own machine and may be looked for there.
    pub fn local(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.iter().filter(|profile| profile.local)
    }

    /// The vendor of that type or alias, in any case. A type wins over another's alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles
            .iter()
            .find(|profile| profile.vendor.eq_ignore_ascii_case(name.trim()))
            .or_else(|| self.profiles.iter().find(|profile| profile.answers_to(name)))
    }

    /// The same.
    ///
    /// # Errors
    /// When there is none; the error lists those there are.
    pub fn require(&self, name: &str) -> Result<&Arc<Profile>, BuildError> {
        self.find(name).ok_or_else(|| BuildError::UnknownVendor {
            name: name.to_owned(),
            known: self.supported(),
        })
    }

    /// The types and aliases there are, for error texts.
    #[must_use]
    pub fn supported(&self) -> String {
        let names: Vec<_> = self
            .profiles
            .iter()
            .map(|profile| match profile.aliases.as_slice() {
                [] => profile.vendor.clone(),
                aliases => format!("{} ({})", profile.vendor, aliases.join(", ")),
            })
            .collect();
        names.join(", ")
    }

    /// Reads `vendor/model`: the vendor and the rest. None when what stands before the first
    /// slash is no vendor, as in `meta-llama/llama-4`, which is a model's own name.
    #[must_use]
    pub fn split_model<'a>(&self, name: &'a str) -> Option<(&Arc<Profile>, &'a str)> {
        let (vendor, model) = name.split_once('/')?;
        if model.is_empty() {
            return None;
        }
        Some((self.find(vendor)?, model))
    }
}

#[cfg(test)]
#[test]
fn every_file_is_read_and_named_after_its_vendor() {
    for (name, text) in FILES {
        let profile: Profile =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}.json: {error}"));
        assert_eq!(profile.vendor, *name);
    }
    assert_eq!(Vendors::builtin().iter().count(), FILES.len());
}
