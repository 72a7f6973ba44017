//! Parses permission rules (from settings, the command line, or saved by "always") into typed
//! matchers.
//!
//! Two dialects are accepted: Robota's `Tool(glob)`, and the grammar of Claude
//! Code (`Bash(git *)`, `Read(//etc/**)`, `WebFetch(domain:…)`, `mcp__server__tool`).

mod command;
mod file;
mod parse;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::error::{Diagnose, ErrorKind};
use serde::{Deserialize, Serialize};

pub(crate) use command::{CommandPattern, CommandText};
pub(crate) use file::FilePattern;
pub(crate) use parse::Anchors;

use crate::call::Family;
use crate::glob::Wild;
use crate::web::HostPattern;

/// The list that a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// What it matches runs without a question.
    Allow,
    /// What it matches needs approval, in every mode.
    Ask,
    /// What it matches never runs.
    Deny,
}

impl std::fmt::Display for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Where rules come from. It is shown with every verdict they lead to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleSource {
    /// For people: a file's path, `--allowedTools`, `this session`.
    pub label: String,
    /// What a leading `/` in its path rules means; `None`: the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

impl RuleSource {
    /// Rules given for this session only.
    #[must_use]
    pub fn session() -> Self {
        Self { label: "this session".into(), root: None }
    }

    /// Rules given by a command line flag.
    #[must_use]
    pub fn flag(name: &str) -> Self {
        Self { label: name.into(), root: None }
    }

    /// Rules of a settings file whose `/…` patterns start at `root`.
    pub fn file(path: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self { label: path.into(), root: Some(root.into()) }
    }
}

/// A rule that cannot be read. It matches nothing, in every list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_label}: the {list} rule `{rule}` is ignored: {problem}")]
pub struct RuleError {
    /// Where it was written.
    pub source_label: String,
    /// The list that the rule was given for.
    pub list: List,
    /// The rule as it was written.
    pub rule: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead, where that is known.
    pub advice: Option<String>,
}

impl Diagnose for RuleError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }

    fn hint(&self) -> Option<String> {
        self.advice.clone()
    }
}

/// Holds one rule of a list: which calls it matches, and where it was written.
#[derive(Debug, Clone)]
pub struct Rule {
    /// As it was written.
    pub text: String,
    /// The list that it belongs to.
    pub list: List,
    /// Where it was written.
    pub source: Arc<RuleSource>,
    pub(crate) matcher: Matcher,
}

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    Family(Family),
    /// Every call of tools with such a name (`WebSearch`, `mcp__github__*`, `*`).
    Name(Wild),
    Command(CommandPattern),
    /// Files, read or changed; `only` names the one tool it binds (`Glob(…)`).
    File {
        reads: bool,
        only: Option<String>,
        pattern: Box<FilePattern>,
    },
    Host(HostPattern),
    /// A named thing: an agent, a skill.
    Named {
        tool: &'static str,
        name: Wild,
        boundary: bool,
    },
    Parameter {
        tool: Wild,
        name: String,
        value: Wild,
    },
    /// The one text argument of a tool we know nothing about.
    Argument {
        tool: String,
        value: Wild,
    },
}

impl Rule {
    /// Reads one rule.
    ///
    /// # Errors
    /// When it is malformed; it must then match nothing.
    pub(crate) fn parse(
        text: &str,
        list: List,
        source: &Arc<RuleSource>,
        anchors: &Anchors<'_>,
    ) -> Result<Self, RuleError> {
        match parse::matcher(text, list, source, anchors) {
            Ok(matcher) => {
                Ok(Self { text: text.to_owned(), list, source: Arc::clone(source), matcher })
            }
            Err(parse::Problem { problem, advice }) => Err(RuleError {
                source_label: source.label.clone(),
                list,
                rule: text.to_owned(),
                problem,
                advice,
            }),
        }
    }
}
