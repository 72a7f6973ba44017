//! The models that the settings allow (`availableModels`).
//!
//! An entry is a short name (`sonnet`: every model of the family), or an id, with or without the name of
//! its vendor (`openai/gpt-5`) and with or without the date of its release.
//!
//! ```
//! use robota_config::AvailableModels;
//!
//! let models = AvailableModels::of(["sonnet", "openai/gpt-5"]);
//! assert!(models.check(Some("anthropic"), "claude-sonnet-4-5").is_ok());
//! assert!(models.check(Some("openai"), "gpt-5").is_ok());
//! let refused = models.check(Some("anthropic"), "claude-opus-4-1").unwrap_err();
//! assert!(refused.to_string().contains("sonnet, openai/gpt-5"));
//! assert!(AvailableModels::default().check(None, "any").is_ok(), "without a list all are allowed");
//! ```

use robota_core::catalogue::Catalogue;

use crate::agents::AgentModel;
use crate::layer::Origin;
use crate::settings::RuleText;

/// What programs add to an id for a larger context window.
const WINDOW: &str = "[1m]";

/// The models that the settings allow; all without a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AvailableModels {
    /// The entries with their files; none allows all models.
    entries: Option<Vec<RuleText>>,
    /// The files that may have a list and cannot be read. Then no model is allowed.
    unreadable: Vec<Origin>,
}

/// A model is not in `availableModels`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model `{model}` is not in `availableModels` ({files}); available: {available}")]
pub struct ModelNotAvailable {
    /// The model as it was requested.
    pub model: String,
    /// The entries of the list.
    pub available: String,
    /// The files that have the list.
    pub files: String,
}

impl AvailableModels {
    /// Allows only these models.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let origin = Origin::of(crate::layer::Layer::BuiltIn);
        let entry = |text: &str| RuleText { text: text.to_owned(), origin: origin.clone() };
        Self::new(Some(entries.into_iter().map(entry).collect()))
    }

    pub(crate) fn new(entries: Option<Vec<RuleText>>) -> Self {
        Self { entries, unreadable: Vec::new() }
    }

    /// Allows no model, because these files may have a list and cannot be read.
    pub(crate) fn unreadable(files: Vec<Origin>) -> Self {
        Self { entries: Some(Vec::new()), unreadable: files }
    }

    /// Returns whether there is no list, so that all models are allowed.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.entries.is_none()
    }

    /// Checks a model of a vendor; without one, an id or a short name.
    ///
    /// # Errors
    /// If there is a list, and no entry means the model.
    pub fn check(&self, vendor: Option<&str>, model: &str) -> Result<(), ModelNotAvailable> {
        let Some(entries) = &self.entries else { return Ok(()) };
        let known = Catalogue::builtin().get(model).map(|model| model.vendor.as_str());
        let vendor = vendor.or(known);
        if entries.iter().any(|entry| means(&entry.text, vendor, model)) {
            return Ok(());
        }
        let names: Vec<_> = entries.iter().map(|entry| entry.text.as_str()).collect();
        let mut files: Vec<_> = entries.iter().map(|entry| entry.origin.to_string()).collect();
        files.dedup();
        files.extend(self.unreadable.iter().map(|file| format!("{file} cannot be read")));
        Err(ModelNotAvailable {
            model: crate::clean::one_line(model),
            available: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            files: if files.is_empty() { "an empty list".to_owned() } else { files.join(", ") },
        })
    }

    /// Returns the first entry that is a model of the vendor, for a run that names no model.
    #[must_use]
    pub fn first_of(&self, vendor: &str, catalogue: &Catalogue) -> Option<String> {
        let is_of_vendor = |id: &String| {
            catalogue.get(id).is_some_and(|model| model.vendor.eq_ignore_ascii_case(vendor))
        };
        // Any model of the vendor, so that a family is looked up among its models.
        let of_vendor = catalogue.models().find(|model| is_of_vendor(&model.id))?;
        self.entries.iter().flatten().find_map(|entry| {
            let id = without_vendor(window(&entry.text), Some(vendor));
            let id = AgentModel::parse(id).resolve(&of_vendor.id, catalogue).to_owned();
            (is_of_vendor(&id) && means(&entry.text, Some(vendor), &id)).then_some(id)
        })
    }
}

/// Returns whether an entry means a model.
fn means(entry: &str, vendor: Option<&str>, model: &str) -> bool {
    let entry = without_vendor(window(entry.trim()), vendor).to_ascii_lowercase();
    let model = without_vendor(window(model.trim()), vendor).to_ascii_lowercase();
    if entry.is_empty() {
        return false;
    }
    if entry == model {
        return true;
    }
    match AgentModel::parse(&entry) {
        AgentModel::Inherit => false,
        AgentModel::Family(family) => is_of_family(&model, &family),
        AgentModel::Id(id) => {
            // `opus-4-1` means `claude-opus-4-1`, and both mean its releases.
            let full = format!("claude-{id}");
            [id, full].iter().any(|id| model.strip_prefix(id.as_str()).is_some_and(is_release))
        }
    }
}

/// Returns whether an id is that of a model of a family, in the spelling of any service.
fn is_of_family(model: &str, family: &str) -> bool {
    let mut words = model.split(|c: char| !c.is_ascii_alphanumeric());
    // `opus` in the name of another company's model is not the family.
    words.clone().any(|word| word == "claude") && words.any(|word| word == family)
}

/// Returns whether this is the end of an id with the date of a release, or nothing.
fn is_release(rest: &str) -> bool {
    let date = rest.strip_prefix(['-', '@']);
    rest.is_empty()
        || date.is_some_and(|it| it.len() == 8 && it.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns an id without the name of its vendor in front.
fn without_vendor<'a>(id: &'a str, vendor: Option<&str>) -> &'a str {
    let of_vendor = vendor.and_then(|vendor| {
        let (first, rest) = id.split_once('/')?;
        first.eq_ignore_ascii_case(vendor).then_some(rest)
    });
    of_vendor.unwrap_or(id)
}

fn window(id: &str) -> &str {
    id.strip_suffix(WINDOW).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_means_a_family_an_id_or_a_release() {
        let cases = [
            ("sonnet", Some("anthropic"), "claude-sonnet-4-5", true),
            ("Sonnet", Some("anthropic"), "claude-sonnet-4-5-20250929", true),
            ("sonnet", None, "sonnet", true),
            ("sonnet[1m]", None, "claude-sonnet-4-5[1m]", true),
            ("sonnet", Some("bedrock"), "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true),
            ("opus", Some("openrouter"), "anthropic/claude-opus-4.1", true),
            ("sonnet", Some("anthropic"), "claude-opus-4-1", false),
            ("opus", Some("other"), "magnum-opus-70b", false),
            ("claude-sonnet-4-5", None, "claude-sonnet-4-5-20250929", true),
            ("claude-sonnet-4-5", None, "claude-sonnet-4-5@20250929", true),
            ("claude-sonnet-4-5-20250929", None, "claude-sonnet-4-5", false),
            ("claude-opus-4", None, "claude-opus-4-1", false),
            ("opus-4-1", None, "claude-opus-4-1-20250805", true),
            ("gpt-5", Some("openai"), "gpt-5", true),
            ("GPT-5", Some("openai"), "openai/gpt-5", true),
            ("openai/gpt-5", Some("openai"), "gpt-5", true),
            ("openai/gpt-5", Some("azure"), "gpt-5", false),
            ("gpt-5", Some("openai"), "gpt-5-pro", false),
            ("inherit", None, "claude-opus-4-1", false),
            ("", None, "claude-opus-4-1", false),
        ];
        for (entry, vendor, model, expected) in cases {
            let allowed = AvailableModels::of([entry]).check(vendor, model).is_ok();
            assert_eq!(allowed, expected, "{entry} {model}");
        }
        assert!(AvailableModels::of([]).check(None, "any").is_err());
    }

    #[test]
    fn a_run_without_a_model_gets_the_first_entry_of_its_vendor() {
        let models = AvailableModels::of(["openai/gpt-5", "haiku", "opus"]);
        let found = models.first_of("anthropic", Catalogue::builtin()).unwrap();
        assert!(found.contains("haiku"), "{found}");
        assert_eq!(models.first_of("google", Catalogue::builtin()), None);
    }
}
