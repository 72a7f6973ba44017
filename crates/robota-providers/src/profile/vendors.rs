//! The set of known vendors.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::Profile;
use crate::error::BuildError;
use crate::json::merge;

/// The files of `data/vendors`, which the build script joins into a list.
const FILES: &str = include_str!(concat!(env!("OUT_DIR"), "/vendors.json"));

/// The vendor that a user's vendor extends by default.
const CUSTOM: &str = "custom";

static BUILTIN: LazyLock<Vendors> = LazyLock::new(|| {
    // A test reads every file. If one could not be read, the others would be better than a program
    // that cannot start.
    Vendors::read(FILES).unwrap_or_else(|_| Vendors { profiles: Vec::new() })
});

/// Finds the known vendors: the built-in ones and those of the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Vendors {
    profiles: Vec<Arc<Profile>>,
}

impl Vendors {
    /// Returns the vendors that are built into the program.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Reads a list of vendors. One that `extends` another may come before it.
    fn read(list: &str) -> Result<Self, BuildError> {
        let invalid = |reason: String| BuildError::Profile { name: "built-in".to_owned(), reason };
        let mut waiting: Vec<Value> =
            serde_json::from_str(list).map_err(|error| invalid(error.to_string()))?;
        let mut vendors = Self { profiles: Vec::new() };
        while !waiting.is_empty() {
            let before = waiting.len();
            for vendor in std::mem::take(&mut waiting) {
                match vendor.get("extends").and_then(Value::as_str) {
                    None => {
                        let profile = serde_json::from_value(vendor)
                            .map_err(|error| invalid(error.to_string()))?;
                        vendors.profiles.push(Arc::new(profile));
                    }
                    Some(base) if vendors.find(base).is_some() => {
                        vendors = vendors.with_user(&vendor)?;
                    }
                    Some(_) => waiting.push(vendor),
                }
            }
            // A whole round without progress: a cycle, or a name that no file has.
            if waiting.len() == before {
                return Err(invalid("`extends` names no vendor".to_owned()));
            }
        }
        vendors.profiles.sort_by_key(|profile| profile.rank);
        Ok(vendors)
    }

    /// Adds a vendor from a settings file. The value has the fields of a [`Profile`]; only `type`
    /// is required. Missing fields are taken from the vendor named by `extends`, or from `custom`.
    /// A vendor with the same type is replaced.
    ///
    /// # Errors
    /// When a field is unknown or invalid, or `extends` names an unknown vendor.
    pub fn with_user(mut self, vendor: &Value) -> Result<Self, BuildError> {
        let name = vendor.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let invalid = |reason: String| BuildError::Profile { name: name.clone(), reason };
        if name.is_empty() {
            return Err(invalid("it has no `type`".to_owned()));
        }
        let mut overrides = vendor.clone();
        let base = match overrides.as_object_mut().and_then(|fields| fields.shift_remove("extends"))
        {
            None => CUSTOM.to_owned(),
            Some(Value::String(base)) => base,
            Some(_) => return Err(invalid("`extends` must be the name of a vendor".to_owned())),
        };
        let base = self.require(&base)?;
        let mut merged =
            serde_json::to_value(base.as_ref()).map_err(|error| invalid(error.to_string()))?;
        // The names of the extended vendor are not inherited.
        merge(&mut merged, &serde_json::json!({"aliases": null, "rank": null, "name": name}));
        merge(&mut merged, &overrides);
        let profile: Profile =
            serde_json::from_value(merged).map_err(|error| invalid(error.to_string()))?;
        self.profiles.retain(|existing| !existing.vendor.eq_ignore_ascii_case(&profile.vendor));
        self.profiles.push(Arc::new(profile));
        Ok(self)
    }

    /// Iterates over all vendors.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.iter()
    }

    /// Iterates over the vendors that run on the user's own machine.
    pub fn local(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.iter().filter(|profile| profile.local)
    }

    /// Finds a vendor by type or alias, ignoring ASCII case. A type takes precedence over an alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles
            .iter()
            .find(|profile| profile.vendor.eq_ignore_ascii_case(name.trim()))
            .or_else(|| self.profiles.iter().find(|profile| profile.matches_name(name)))
    }

    /// Finds a vendor like [`Self::find`].
    ///
    /// # Errors
    /// When no vendor matches; the error lists the supported names.
    pub fn require(&self, name: &str) -> Result<&Arc<Profile>, BuildError> {
        self.find(name).ok_or_else(|| BuildError::UnknownVendor {
            name: name.to_owned(),
            supported: self.supported(),
        })
    }

    /// Lists the supported types and aliases for error messages.
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

    /// Splits `vendor/model`. Returns `None` if the part before the first slash is not a vendor, as
    /// in `meta-llama/llama-4`, where it is part of the model's name.
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
mod tests;
