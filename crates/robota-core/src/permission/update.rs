//! Changes of permissions that come with an approval: `updatedPermissions` of hosts and of hooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Mode, Verdict};

/// A change of permissions, in the form in which hosts and hooks send it.
///
/// ```
/// use robota_core::permission::PermissionUpdate;
///
/// let update: PermissionUpdate = serde_json::from_value(serde_json::json!({
///     "type": "addDirectories", "directories": ["../shared"], "destination": "session",
/// }))?;
/// assert!(update.destination().is_session());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PermissionUpdate {
    /// Adds rules to the list of the destination.
    AddRules(RuleUpdate),
    /// Replaces all rules that the destination has in a list.
    ReplaceRules(RuleUpdate),
    /// Removes rules from a list of the destination.
    RemoveRules(RuleUpdate),
    /// Sets the permission mode of the session, and that of later sessions if the destination is a file.
    SetMode {
        /// The mode that applies from then on.
        mode: Mode,
        /// The session, or the file that stores the mode.
        destination: UpdateDestination,
    },
    /// Adds folders outside of the working folder to the workspace.
    AddDirectories(DirectoryUpdate),
    /// Removes folders from the workspace that the destination has added.
    RemoveDirectories(DirectoryUpdate),
}

/// Names rules and the list that they belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUpdate {
    /// The rules, in the syntax of permission rules.
    #[serde(with = "rule_parts")]
    pub rules: Vec<String>,
    /// The list: rules that allow, ask or deny.
    pub behavior: Verdict,
    /// The session, or the file that stores the rules.
    pub destination: UpdateDestination,
}

/// Names folders that belong to the workspace or no longer do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryUpdate {
    /// Their paths; relative ones start at the working folder.
    pub directories: Vec<String>,
    /// The session, or the file that stores the folders.
    pub destination: UpdateDestination,
}

/// Where a change of permissions is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UpdateDestination {
    /// The running session, until it ends.
    Session,
    /// With the arguments of the command line: until the session ends.
    CliArg,
    /// The settings of the project that are not shared.
    LocalSettings,
    /// The settings that are part of the checkout.
    ProjectSettings,
    /// The settings that apply to all projects of the user.
    UserSettings,
}

impl UpdateDestination {
    /// Returns whether the change ends with the session.
    #[must_use]
    pub fn is_session(self) -> bool {
        match self {
            Self::Session | Self::CliArg => true,
            Self::LocalSettings | Self::ProjectSettings | Self::UserSettings => false,
        }
    }
}

impl PermissionUpdate {
    /// Returns where the change is kept.
    #[must_use]
    pub fn destination(&self) -> UpdateDestination {
        match self {
            Self::AddRules(rules) | Self::ReplaceRules(rules) | Self::RemoveRules(rules) => {
                rules.destination
            }
            Self::SetMode { destination, .. } => *destination,
            Self::AddDirectories(update) | Self::RemoveDirectories(update) => update.destination,
        }
    }

    /// Returns the rules that it allows.
    #[must_use]
    pub fn allowed_rules(&self) -> &[String] {
        match self {
            Self::AddRules(update) | Self::ReplaceRules(update)
                if update.behavior == Verdict::Allow =>
            {
                &update.rules
            }
            Self::AddRules(_)
            | Self::ReplaceRules(_)
            | Self::RemoveRules(_)
            | Self::SetMode { .. }
            | Self::AddDirectories(_)
            | Self::RemoveDirectories(_) => &[],
        }
    }

    /// Reads the changes of an answer. A change that cannot be read is left out, and reported: it must
    /// not undo the answer that it came with.
    #[must_use]
    pub fn read_all(updates: Vec<Value>) -> (Vec<Self>, Vec<String>) {
        let (mut read, mut problems) = (Vec::new(), Vec::new());
        for update in updates {
            let kind = update["type"].as_str().unwrap_or_default();
            let kind: String = kind.chars().take(40).collect();
            match serde_json::from_value(update) {
                Ok(update) => read.push(update),
                Err(error) => {
                    let kind = kind.escape_debug();
                    problems.push(format!("`{kind}` in `updatedPermissions` is ignored: {error}"));
                }
            }
        }
        (read, problems)
    }
}

/// Rules in the two parts in which hosts and hooks read and write them.
pub(crate) mod rule_parts {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A rule: what is before the parentheses, and what is between them.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RuleParts {
        tool_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule_content: Option<String>,
    }

    pub(crate) fn serialize<S: Serializer>(rules: &[String], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(rules.iter().map(|rule| {
            let parts =
                rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
            match parts {
                Some((tool, content)) => {
                    RuleParts { tool_name: tool.to_owned(), rule_content: Some(content.to_owned()) }
                }
                None => RuleParts { tool_name: rule.clone(), rule_content: None },
            }
        }))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        let rules = Vec::<RuleParts>::deserialize(from)?;
        let text = |rule: RuleParts| match rule.rule_content {
            Some(content) => format!("{}({content})", rule.tool_name),
            None => rule.tool_name,
        };
        Ok(rules.into_iter().map(text).collect())
    }
}

#[cfg(test)]
mod tests;
