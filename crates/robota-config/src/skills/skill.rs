//! A skill: what its header says.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::find::{Candidate, Source};
use crate::frontmatter::{Fields, MAX_HEADER_BYTES, Markdown};
use crate::layer::{LayerScope, Origin};
use crate::reader::{ContextReader, TextFile, warning};
use crate::report::Problem;

/// How many bytes of a file are read for its header.
const HEADER_READ: u64 = MAX_HEADER_BYTES as u64 + 1024;

/// Says in which form a skill is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SkillKind {
    /// A folder with `SKILL.md` and perhaps other files.
    Skill,
    /// A Markdown file of a `commands` folder.
    Command,
}

/// Where the text of a skill runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillContext {
    /// In the conversation, as text.
    #[default]
    Inline,
    /// In a subagent of its own.
    Fork,
}

/// What a skill asks for beyond text. [`super::SkillBody::grants`] returns what it gets.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SkillGrants {
    /// Permission rules for calls that run without approval while the skill is used
    /// (`allowed-tools`). [`super::SkillBody::fork_tools`] returns their other meaning in a fork.
    pub allowed_tools: Vec<String>,
    /// Hooks that run while the skill is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
}

/// What the header of a skill says, and where the skill is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skill {
    /// The name that invokes it: that of its folder or file, with the namespaces of a command.
    pub name: String,
    /// The name in its header, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it does: the header, otherwise the first line of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When the model should use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// A hint at the arguments, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// The names of the arguments, in order.
    pub arguments: Vec<String>,
    /// Whether only the user can invoke it.
    pub disable_model_invocation: bool,
    /// Whether it is in the user's menus.
    pub user_invocable: bool,
    /// What it asks for beyond text.
    pub requests: SkillGrants,
    /// Tools that must not be used with it. They apply in any case.
    pub disallowed_tools: Vec<String>,
    /// The model that runs it; none means that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort of the model; none means that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where its text runs.
    pub context: SkillContext,
    /// The agent of a fork; none means `general-purpose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a fork runs in the background.
    pub background: bool,
    /// Globs of files; the skill is offered to the model when one of them is read.
    pub paths: Vec<String>,
    /// The shell that its commands ask for; this version always uses bash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Its licence, as the author names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What it needs to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Other data, which this program does not use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Its form on disk.
    pub kind: SkillKind,
    /// Its file as it was found; it may be a link.
    pub file: PathBuf,
    /// The layer and file that it comes from.
    pub origin: Origin,
}

impl Skill {
    /// Returns whether the skill needs trust to run commands or to allow calls: it is part of a
    /// checkout.
    #[must_use]
    pub fn needs_trust(&self) -> bool {
        self.origin.layer.scope() == LayerScope::Project
    }

    /// Returns the folder that the files of the skill are relative to.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// Reads the header of a file; none if the file does not exist, is empty or cannot be read.
    pub(super) fn read(
        reader: &ContextReader,
        name: &str,
        candidate: &Candidate,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let file = candidate.file();
        match reader.read(&file, &candidate.source.boundary, HEADER_READ) {
            Ok(Some(text)) => Self::parse(name, candidate, &text, problems).map(|(skill, _)| skill),
            Ok(None) => None,
            Err(reason) => {
                let message = format!("not read: {reason}");
                problems.push(warning(candidate.source.layer, &file, message));
                None
            }
        }
    }

    /// Returns the metadata and the body of a file; none if it is empty.
    pub(super) fn parse(
        name: &str,
        candidate: &Candidate,
        text: &TextFile,
        problems: &mut Vec<Problem>,
    ) -> Option<(Self, String)> {
        let file = candidate.file();
        let Source { layer, kind, .. } = &*candidate.source;
        if text.text.trim().is_empty() {
            problems.push(warning(*layer, &file, "not read: it is empty"));
            return None;
        }
        let Markdown { header, body, notes } = Markdown::of_clean(&text.text);
        let mut fields = Fields::new(&header, *layer, Some(&file));
        fields.note(&notes);
        // Two names that people write by mistake; `tools` is the field of agents.
        fields.warn_of("allowed_tools", "has no effect: write `allowed-tools`");
        fields.warn_of("tools", "has no effect in a skill: write `allowed-tools`");
        let fork = fields.choice("context", "fork", |word| match word {
            "fork" => Some(SkillContext::Fork),
            "inline" => Some(SkillContext::Inline),
            _ => None,
        });
        let skill = Self {
            name: name.to_owned(),
            label: fields.text("name"),
            description: fields.text("description").or_else(|| first_line(&body)),
            when_to_use: fields.text("when_to_use"),
            argument_hint: fields.text("argument-hint"),
            arguments: fields.words("arguments"),
            // An unclear value must not give the model a skill that it should not have.
            disable_model_invocation: fields
                .flag("disable-model-invocation")
                .unwrap_or_else(|| fields.has("disable-model-invocation")),
            user_invocable: fields.flag("user-invocable").unwrap_or(true),
            requests: SkillGrants {
                allowed_tools: fields.words("allowed-tools"),
                hooks: fields.value("hooks"),
            },
            disallowed_tools: fields.words("disallowed-tools"),
            model: fields.text("model"),
            effort: fields.text("effort"),
            context: fork.unwrap_or_default(),
            agent: fields.text("agent"),
            background: fields.flag("background").unwrap_or(false),
            // Commands are started by the user, so there is nothing to offer.
            paths: if *kind == SkillKind::Skill { fields.globs("paths") } else { Vec::new() },
            shell: fields.text("shell"),
            license: fields.text("license"),
            compatibility: fields.text("compatibility"),
            metadata: fields.value("metadata"),
            kind: *kind,
            file: file.clone(),
            origin: Origin { layer: *layer, file: Some(file.clone()), line: None },
        };
        problems.append(&mut fields.problems);
        Some((skill, body))
    }
}

fn first_line(body: &str) -> Option<String> {
    let line =
        body.lines().map(|line| line.trim_start_matches('#').trim()).find(|it| !it.is_empty())?;
    Some(line.chars().take(200).collect())
}
