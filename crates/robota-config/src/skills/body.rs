//! The body of a skill, read when it is invoked.

use std::path::{Path, PathBuf};

use robota_core::error::{Diagnose, ErrorKind};
use sha2::{Digest as _, Sha256};

use super::arguments::Arguments;
use super::parts::{self, SkillPart};
use super::{Skill, SkillContext, SkillGrants, Skills};
use crate::clean::shown;
use crate::trust::{NamedFiles, TrustStore, hex};

/// The most bytes of the file of a skill.
const MAX_BODY_BYTES: u64 = 256 * 1024;

/// What takes the place of a command where commands of skills are turned off.
const COMMANDS_DISABLED: &str = "[commands of skills are turned off]";

/// A skill that is about to be used: its metadata and its text, from one read of its file.
#[derive(Debug, Clone)]
pub struct SkillBody {
    /// The metadata, of the same bytes as the text.
    pub skill: Skill,
    /// The file without links, by which trust is recorded.
    pub file: PathBuf,
    /// The hash of the file and of the scripts that its hooks run, for [`TrustStore::grant_file`].
    pub hash: String,
    /// Whether the skill may run commands and allow calls: it is the user's own, or the user trusts
    /// its file with this content.
    pub trusted: bool,
    template: String,
    project: PathBuf,
    /// The names in `${...}` that its plugin gives a value.
    variables: Vec<(String, String)>,
}

/// What a skill is invoked with.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillInvocation<'a> {
    /// The text after the name of the skill.
    pub arguments: &'a str,
    /// The value of `${CLAUDE_SESSION_ID}`.
    pub session_id: Option<&'a str>,
    /// The value of `${CLAUDE_EFFORT}`.
    pub effort: Option<&'a str>,
    /// Whether commands are replaced by a note (the setting `disableSkillShellExecution`).
    pub commands_disabled: bool,
}

/// Why a skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// There is no skill of this name.
    #[error("there is no skill `{name}`")]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the skill {}: {reason}", shown(file))]
    Unreadable {
        /// The file, which may be a link.
        file: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// The skill is part of a checkout, runs commands, and its file is not trusted.
    #[error("the skill `{name}` runs commands, and its file {} is not trusted", shown(file))]
    Untrusted {
        /// The skill, by the name with which it was invoked.
        name: String,
        /// The file without links, by which trust is recorded.
        file: PathBuf,
        /// The commands, to show to the user.
        commands: Vec<String>,
    },
}

impl Diagnose for SkillError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } => ErrorKind::Validation,
            Self::Unreadable { .. } => ErrorKind::Storage,
            Self::Untrusted { .. } => ErrorKind::Configuration,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => "list the skills to see their names".to_owned(),
            Self::Unreadable { .. } => "check the file and its permissions".to_owned(),
            Self::Untrusted { .. } => {
                "`robota trust` shows what it asks for; `robota trust --yes` trusts it".to_owned()
            }
        })
    }
}

impl Skills {
    /// Reads a skill to use it: metadata and text from the same bytes.
    ///
    /// # Errors
    /// If there is no such skill, or its file cannot be read.
    pub fn open(&self, name: &str, trust: &TrustStore) -> Result<SkillBody, SkillError> {
        let unknown = || SkillError::Unknown { name: name.to_owned() };
        let skill = self.get(name).ok_or_else(unknown)?;
        let entry = self.entries.get(name).ok_or_else(unknown)?;
        let candidate =
            entry.candidates.iter().find(|it| it.file() == skill.file).ok_or_else(unknown)?;
        let error = |reason: String| SkillError::Unreadable { file: skill.file.clone(), reason };
        let text = self.reader.read(&skill.file, &candidate.source.boundary, MAX_BODY_BYTES);
        let text = text.map_err(error)?.ok_or_else(|| error("the file is gone".to_owned()))?;
        // A part of a file has no hash, so that it can never be trusted.
        let Some(hash) = text.hash() else {
            return Err(error(format!("it has {} bytes, at most {MAX_BODY_BYTES}", text.size)));
        };
        let (skill, template) = Skill::parse(name, candidate, &text, &mut Vec::new())
            .ok_or_else(|| error("it is empty".to_owned()))?;
        let hash = with_scripts(hash, &skill, (self.reader.cwd(), self.reader.root()));
        let trusted = !skill.needs_trust() || trust.trusts_file(&text.real, &hash);
        let project = self.reader.cwd().to_owned();
        let variables = candidate.source.variables.clone();
        Ok(SkillBody { skill, file: text.real, hash, trusted, template, project, variables })
    }
}

/// Returns what identifies a skill with the scripts of the project that its hooks run.
fn with_scripts(hash: String, skill: &Skill, (project, checkout): (&Path, &Path)) -> String {
    let Some(hooks) = &skill.requests.hooks else { return hash };
    let files = NamedFiles::find(project, checkout, [hooks]);
    // A changed script asks for trust again, although the skill itself is the same.
    let mut all = Sha256::new_with_prefix(&hash);
    for (path, fingerprint) in files.fingerprints() {
        all.update(path.as_os_str().as_encoded_bytes());
        all.update([0]);
        all.update(fingerprint);
    }
    hex(&all.finalize())
}

impl SkillBody {
    /// Returns whether the text has commands to run.
    #[must_use]
    pub fn runs_commands(&self) -> bool {
        !self.commands().is_empty()
    }

    /// Returns the commands of the text, before the arguments are known.
    pub(crate) fn commands(&self) -> Vec<&str> {
        parts::commands(&self.template)
    }

    /// Returns what the skill may do beyond text: what it asks for if it is trusted, otherwise
    /// nothing.
    #[must_use]
    pub fn grants(&self) -> SkillGrants {
        if self.trusted { self.skill.requests.clone() } else { SkillGrants::default() }
    }

    /// Returns the only tools of the subagent that runs the skill (`context: fork`); none if it has
    /// all. This restricts, so it needs no trust.
    #[must_use]
    pub fn fork_tools(&self) -> Option<&[String]> {
        let tools = &self.skill.requests.allowed_tools;
        (self.skill.context == SkillContext::Fork && !tools.is_empty()).then_some(tools)
    }

    /// Returns the parts of the text, with arguments and variables in their places.
    ///
    /// # Errors
    /// If the text has commands and the skill is not trusted.
    pub fn expand(&self, call: &SkillInvocation<'_>) -> Result<Vec<SkillPart>, SkillError> {
        let commands = self.commands();
        // Turned off, they cannot run, so there is nothing to trust.
        if !commands.is_empty() && !self.trusted && !call.commands_disabled {
            return Err(SkillError::Untrusted {
                name: self.skill.name.clone(),
                file: self.file.clone(),
                commands: commands.into_iter().map(str::to_owned).collect(),
            });
        }
        let path = |path: &std::path::Path| path.display().to_string();
        let (session, effort) = (call.session_id, call.effort);
        let known = [
            ("CLAUDE_SKILL_DIR", Some(path(self.skill.folder()))),
            ("CLAUDE_PROJECT_DIR", Some(path(&self.project))),
            ("CLAUDE_SESSION_ID", session.map(str::to_owned)),
            ("CLAUDE_EFFORT", effort.map(str::to_owned)),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let variables = known.chain(self.variables.iter().cloned()).collect();
        let mut arguments = Arguments::new(call.arguments, &self.skill.arguments, variables);
        let mut parts = parts::parts(&self.template, &mut arguments);
        if call.commands_disabled {
            for part in &mut parts {
                if matches!(part, SkillPart::Command { .. }) {
                    *part = SkillPart::Text(COMMANDS_DISABLED.to_owned());
                }
            }
        }
        Ok(parts)
    }
}
