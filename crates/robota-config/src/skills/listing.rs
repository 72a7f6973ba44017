//! The list of skills for the model: names and descriptions, up to a size.

use robota_core::context::serialized_tokens;
use serde::Serialize;

use super::{Skill, SkillOverride, Skills};
use crate::clean::one_line;

/// How long the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingCaps {
    /// The most characters of the description of one skill.
    pub skill_chars: usize,
    /// The most bytes of the list.
    pub total_bytes: usize,
    /// The most files that are opened for it.
    pub files: usize,
}

impl Default for ListingCaps {
    fn default() -> Self {
        Self { skill_chars: 1_536, total_bytes: 16 * 1024, files: 48 }
    }
}

/// The fewest files that are opened for the list, however many agents there are.
const FEWEST_FILES: usize = 16;

impl ListingCaps {
    /// Returns the limits of a list if that many agent definitions were read for the same
    /// prompt: the start of a session opens few files, however many skills and agents there are.
    #[must_use]
    pub fn beside(agents: u64) -> Self {
        let caps = Self::default();
        let agents = usize::try_from(agents).unwrap_or(usize::MAX);
        Self { files: caps.files.saturating_sub(agents).max(FEWEST_FILES), ..caps }
    }
}

/// Lists the skills for the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SkillListing {
    /// One line for each skill, and one that counts the others.
    pub text: String,
    /// The number of skills in the list.
    pub listed: usize,
    /// The number of skills that did not fit.
    pub more: usize,
    /// The estimated number of tokens of the text.
    pub tokens: u64,
}

impl Skills {
    /// Returns the skills that the model may invoke, in order of priority. Skills that do not fit are
    /// counted in the last line; their files are not opened.
    #[must_use]
    pub fn listing(&self, caps: &ListingCaps) -> SkillListing {
        self.listing_of(self.entries.keys(), caps)
    }

    /// Returns the same list of some skills only.
    #[must_use]
    pub fn listing_of<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
        caps: &ListingCaps,
    ) -> SkillListing {
        let mut listing = SkillListing::default();
        let before = self.reader.counts().files;
        // Room for the last line is kept free from the start.
        let full = "- 9999 more skills\n".len();
        let entries = names.into_iter().filter_map(|name| self.entries.get_key_value(name));
        for (name, entry) in entries.filter(|(name, _)| self.is_chosen(name)) {
            let opened = self.reader.counts().files - before;
            let known = entry.loaded.get().is_some();
            // After the first that does not fit none is opened, so that the start stays fast.
            if listing.more > 0 || (!known && opened >= caps.files as u64) {
                listing.more += 1;
                continue;
            }
            let Some(skill) = self.get(name).filter(|skill| self.is_listed(skill)) else {
                continue;
            };
            let line = self.line(&skill, caps);
            if listing.text.len() + line.len() + full > caps.total_bytes {
                listing.more += 1;
                continue;
            }
            listing.text.push_str(&line);
            listing.listed += 1;
        }
        if listing.more > 0 {
            listing.text.push_str(&format!("- {} more skills\n", listing.more));
        }
        listing.tokens = serialized_tokens(listing.text.len() as u64);
        listing
    }

    pub(super) fn is_listed(&self, skill: &Skill) -> bool {
        self.is_for_model(skill) && (skill.paths.is_empty() || self.active.contains(&skill.name))
    }

    fn line(&self, skill: &Skill, caps: &ListingCaps) -> String {
        let name = one_line(&skill.name);
        let texts = [skill.description.as_deref(), skill.when_to_use.as_deref()];
        let text = texts.into_iter().flatten().map(one_line).collect::<Vec<_>>().join(" - ");
        if text.is_empty() || self.setting(&skill.name) == SkillOverride::NameOnly {
            return format!("- {name}\n");
        }
        if text.chars().count() <= caps.skill_chars {
            return format!("- {name}: {text}\n");
        }
        let short: String = text.chars().take(caps.skill_chars.saturating_sub(1)).collect();
        format!("- {name}: {short}…\n")
    }
}
