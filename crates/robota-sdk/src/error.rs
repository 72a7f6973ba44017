//! The errors of this crate.

use std::path::PathBuf;

use robota_core::error::{Diagnose, ErrorKind};
use robota_core::hook::HookEvent;
use robota_core::journal::JournalError;
use robota_core::sandbox::SandboxError;
use robota_session::SessionError;

use crate::skills::SkillFailure;

/// Says why a function of the SDK failed.
///
/// ```
/// use robota_core::error::Diagnose as _;
/// use robota_sdk::SdkError;
///
/// let error = SdkError::UnknownCommand("nosuch".to_owned());
/// assert!(error.to_string().contains("nosuch"));
/// let _ = error.hint();
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SdkError {
    /// An option has an invalid value.
    #[error("{option}: {problem}")]
    Option {
        /// The name of the option, as in the options type.
        option: &'static str,
        /// What is wrong with its value, and what it can be.
        problem: String,
    },
    /// A permission rule of the caller is invalid.
    #[error("invalid rule `{rule}`: {problem}")]
    Rule {
        /// The rule as the caller wrote it, such as `Bash(git *)`.
        rule: String,
        /// Why the rule is not valid, as the policy explains it.
        problem: String,
    },
    /// A folder cannot be used: as the working folder, or as the folder of a plugin in a
    /// repository.
    #[error("cannot open the folder {}: {problem}", folder.display())]
    Folder {
        /// The folder as it was named, which may be relative.
        folder: PathBuf,
        /// Why the folder cannot be used.
        problem: String,
    },
    /// A link in the project would redirect files that this crate writes.
    #[error(
        "{} is a link to {}; this program does not write through it. Remove the link. To store \
         sessions elsewhere, use --store file:DIR",
        link.display(),
        target.display()
    )]
    Link {
        /// The link, in the folder `.robota` of the project or that folder itself.
        link: PathBuf,
        /// The place to which the link leads.
        target: PathBuf,
    },
    /// The id for a new session is invalid.
    #[error(
        "Invalid session ID. Must be a valid UUID, or a name such as agent:dev/session:main ({0})"
    )]
    SessionId(String),
    /// No session has this id, prefix of an id, or name.
    #[error("session `{0}` not found; `robota sessions list` lists all sessions")]
    SessionNotFound(String),
    /// Several sessions match an id prefix or a name; the caller should give more of it.
    #[error("ambiguous id prefix or name `{name}`: it matches {}", ids.join(", "))]
    AmbiguousSession {
        /// The id prefix or name that was given.
        name: String,
        /// The ids of the first sessions that match.
        ids: Vec<String>,
    },
    /// There is no session to continue.
    #[error("no session to continue in {folder}; start one with: robota -p \"PROMPT\"")]
    NothingToContinue {
        /// The working folder in which sessions were looked for.
        folder: String,
    },
    /// There is no such command or skill.
    #[error("there is no command or skill `/{0}`; `/help` lists them")]
    UnknownCommand(String),
    /// A hook blocked what the user or a host asked for.
    #[error("{event} hook: {reason}")]
    Blocked {
        /// The event at which the hook ran.
        event: HookEvent,
        /// The reason that the hook gave.
        reason: String,
    },
    /// A file cannot be read for the session.
    #[error("cannot read {}: {problem}", path.display())]
    NotRead {
        /// The file, as the caller named it.
        path: PathBuf,
        /// Why it was not read: a rule, or the error of the system.
        problem: String,
    },
    /// A skill cannot be used: the gate refuses a command of it, or it failed.
    #[error(transparent)]
    Skill(#[from] SkillFailure),
    /// As many prompts wait for the turn as the session accepts.
    #[error("{limit} prompt{} already wait{}; send this one later, or cancel one that waits",
        if *limit == 1 { "" } else { "s" }, if *limit == 1 { "s" } else { "" })]
    QueueFull {
        /// The number of prompts that may wait, which the builder of the session sets.
        limit: usize,
    },
    /// A git repository with a plugin or a marketplace cannot be fetched.
    #[error("cannot fetch {url}: {problem}")]
    Git {
        /// The address of the repository, as the source names it.
        url: String,
        /// The first lines that git reported, or why it was not started.
        problem: String,
    },
    /// The prompt had no turn of its own; another turn answered it.
    #[error("the prompt had no turn of its own: {0}")]
    NoTurn(String),
    /// The sandbox that is required is not available.
    #[error("the requested sandbox is not available")]
    Sandbox(#[source] SandboxError),
    /// The values of secrets cannot be made into a search for them, so the session is not
    /// opened.
    #[error("cannot prepare the redaction of secrets")]
    Redactor(#[source] robota_core::redact::RedactorError),
    /// The session store failed, or refused the request.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The session failed, or it has ended.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An MCP server failed, or answered with an error.
    #[error(transparent)]
    Mcp(#[from] robota_mcp::McpError),
    /// A file or folder of the user cannot be read or written.
    #[error("{what}")]
    Io {
        /// What failed, with the path; the cause is the source of this error.
        what: String,
        /// What the operating system reports.
        #[source]
        source: std::io::Error,
    },
}

impl SdkError {
    /// Returns whether the caller passed something invalid, which a program reports as a usage error.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Option { .. } | Self::Rule { .. } | Self::Folder { .. } | Self::SessionId(_)
        )
    }
}

impl Diagnose for SdkError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Option { .. }
            | Self::Rule { .. }
            | Self::Folder { .. }
            | Self::SessionId(_)
            | Self::SessionNotFound(_)
            | Self::AmbiguousSession { .. }
            | Self::NothingToContinue { .. }
            | Self::UnknownCommand(_)
            | Self::Blocked { .. }
            | Self::NotRead { .. }
            | Self::QueueFull { .. }
            | Self::NoTurn(_) => ErrorKind::Validation,
            Self::Skill(error) => error.kind(),
            Self::Link { .. } | Self::Sandbox(_) | Self::Redactor(_) => ErrorKind::Configuration,
            Self::Journal(error) => error.kind(),
            Self::Session(error) => error.kind(),
            Self::Mcp(_) => ErrorKind::Configuration,
            Self::Git { .. } => ErrorKind::Configuration,
            Self::Io { .. } => ErrorKind::Storage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::Sandbox(error) => error.hint(),
            Self::Skill(error) => error.hint(),
            Self::Git { .. } => Some("run `git ls-remote` with the address to test it".to_owned()),
            Self::Option { .. }
            | Self::Rule { .. }
            | Self::Folder { .. }
            | Self::Link { .. }
            | Self::SessionId(_)
            | Self::SessionNotFound(_)
            | Self::AmbiguousSession { .. }
            | Self::NothingToContinue { .. }
            | Self::UnknownCommand(_)
            | Self::Blocked { .. }
            | Self::NotRead { .. }
            | Self::QueueFull { .. }
            | Self::NoTurn(_)
            | Self::Mcp(_)
            | Self::Redactor(_)
            | Self::Io { .. } => None,
        }
    }
}
