//! Changes of permissions that a host returns with an approval (`updatedPermissions`). Nothing that
//! it returns can allow more than what it was shown; rules that forbid are always taken.

use robota_config::{Layer, RuleList};
use robota_core::approve::{Question, Scope};
use robota_core::permission::Mode;
use serde::Deserialize;

use super::lenient::or_default;
use super::mode::parse_mode;

/// A change of permissions, as the host sends it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum UpdateInput {
    AddRules(RulesInput),
    ReplaceRules(RulesInput),
    RemoveRules(RulesInput),
    SetMode {
        #[serde(default, deserialize_with = "or_default")]
        mode: String,
        #[serde(default, deserialize_with = "or_default")]
        destination: Destination,
    },
    AddDirectories {},
    RemoveDirectories {
        #[serde(default, deserialize_with = "or_default")]
        directories: Vec<String>,
        #[serde(default, deserialize_with = "or_default")]
        destination: Destination,
    },
    #[serde(other)]
    Other,
}

/// Rules of one list.
#[derive(Debug, Deserialize)]
pub(crate) struct RulesInput {
    #[serde(default, deserialize_with = "or_default")]
    rules: Vec<RuleInput>,
    #[serde(default, deserialize_with = "or_default")]
    behavior: Behavior,
    #[serde(default, deserialize_with = "or_default")]
    destination: Destination,
}

/// A rule, in two parts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleInput {
    tool_name: String,
    #[serde(default)]
    rule_content: Option<String>,
}

impl RuleInput {
    /// Returns the rule as one text.
    pub(crate) fn text(&self) -> String {
        match &self.rule_content {
            Some(content) => format!("{}({content})", self.tool_name),
            None => self.tool_name.clone(),
        }
    }
}

/// The list of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Behavior {
    Allow,
    Ask,
    Deny,
    /// A list that does not exist here.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Where a change is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Destination {
    UserSettings,
    ProjectSettings,
    #[default]
    LocalSettings,
    Session,
    CliArg,
    /// A place that does not exist here.
    #[serde(other)]
    Unknown,
}

impl Destination {
    /// Returns the settings file; none for this session only.
    fn layer(self) -> Option<Layer> {
        match self {
            Self::UserSettings => Some(Layer::UserRobota),
            Self::ProjectSettings => Some(Layer::ProjectRobota),
            Self::LocalSettings => Some(Layer::ProjectRobotaLocal),
            Self::Session | Self::CliArg | Self::Unknown => None,
        }
    }
}

/// A change that takes permissions away, or sets the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionChange {
    /// Sets the permission mode of the session.
    SetMode(Mode),
    /// Adds rules that forbid, or need approval.
    Restrict { list: RuleList, rules: Vec<String>, layer: Option<Layer> },
    /// Removes allow rules.
    Remove { rules: Vec<String>, layer: Option<Layer> },
    /// Removes all allow rules of one place.
    Clear { layer: Option<Layer> },
    /// Removes directories from a settings file; the next session does not have them.
    RemoveDirectories { directories: Vec<String>, layer: Layer },
}

/// The changes that the host returned, as far as they are accepted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The suggested rules that are kept.
    pub(crate) rules: Vec<String>,
    /// How far they reach.
    pub(crate) scope: Scope,
    /// The settings files in which they are saved.
    pub(crate) layers: Vec<Layer>,
    /// The other changes, in their order.
    pub(crate) changes: Vec<PermissionChange>,
    /// What was not done; recorded with the approval.
    pub(crate) note: Option<&'static str>,
}

/// Decides which changes are made.
pub(crate) fn accept(updates: Vec<UpdateInput>, question: &Question) -> Accepted {
    let mut accepted = Accepted::default();
    for update in updates {
        accepted.add(update, question);
    }
    accepted
}

impl Accepted {
    fn add(&mut self, update: UpdateInput, question: &Question) {
        match update {
            UpdateInput::AddRules(input) => self.add_rules(&input, question),
            UpdateInput::ReplaceRules(input) => match input.behavior {
                Behavior::Allow if is_suggested(&input, question) => {
                    self.changes.push(PermissionChange::Clear { layer: input.destination.layer() });
                    self.add_rules(&input, question);
                }
                Behavior::Allow => self.note = Some(NOT_SUGGESTED),
                Behavior::Ask | Behavior::Deny | Behavior::Unknown => self.note = Some(NOT_LIFTED),
            },
            UpdateInput::RemoveRules(input) => match input.behavior {
                Behavior::Allow => self.changes.push(PermissionChange::Remove {
                    rules: texts(&input),
                    layer: input.destination.layer(),
                }),
                Behavior::Ask | Behavior::Deny | Behavior::Unknown => self.note = Some(NOT_LIFTED),
            },
            UpdateInput::SetMode { mode, destination } => match parse_mode(&mode) {
                Ok(mode) => {
                    if destination.layer().is_some() {
                        self.note = Some("the mode is kept until the session ends");
                    }
                    self.changes.push(PermissionChange::SetMode(mode));
                }
                Err(_) => self.note = Some("approved for this call: the mode is not known"),
            },
            UpdateInput::AddDirectories {} => {
                self.note = Some("approved for this call: directories are added by the user only");
            }
            UpdateInput::RemoveDirectories { directories, destination } => {
                match destination.layer() {
                    Some(layer) => self
                        .changes
                        .push(PermissionChange::RemoveDirectories { directories, layer }),
                    None => self.note = Some("directories are removed from settings files only"),
                }
            }
            UpdateInput::Other => {
                self.note = Some("approved for this call: the change of permissions is not known");
            }
        }
    }

    fn add_rules(&mut self, input: &RulesInput, question: &Question) {
        let layer = input.destination.layer();
        let list = match input.behavior {
            Behavior::Allow => {
                if !is_suggested(input, question) {
                    self.note = Some(NOT_SUGGESTED);
                    return;
                }
                for rule in texts(input) {
                    if !self.rules.contains(&rule) {
                        self.rules.push(rule);
                    }
                }
                self.scope = self.scope.max(match layer {
                    None => Scope::Session,
                    Some(_) => Scope::Always,
                });
                self.layers.extend(layer.filter(|layer| !self.layers.contains(layer)));
                return;
            }
            Behavior::Ask => RuleList::Ask,
            Behavior::Deny => RuleList::Deny,
            Behavior::Unknown => {
                self.note = Some("approved for this call: the list of the rules is not known");
                return;
            }
        };
        self.changes.push(PermissionChange::Restrict { list, rules: texts(input), layer });
    }
}

const NOT_SUGGESTED: &str = "approved for this call: only the suggested rules are kept";
const NOT_LIFTED: &str = "rules that forbid are removed by the user only";

fn texts(input: &RulesInput) -> Vec<String> {
    input.rules.iter().map(RuleInput::text).collect()
}

fn is_suggested(input: &RulesInput, question: &Question) -> bool {
    !input.rules.is_empty() && texts(input).iter().all(|rule| question.rules.contains(rule))
}

#[cfg(test)]
mod tests;
