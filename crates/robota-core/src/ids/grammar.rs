//! The grammar of session ids.
//!
//! ```text
//! [org:X/][team:X/][user:X/]agent:T/session:R[/fork:F]*     structured
//! 0197a4d2-7c1e-7000-8000-000000000001                      a UUID
//! release-notes.2                                           a plain name
//! ```
//!
//! A part (`X`, `T`, `R`, `F`, a plain name) has 1 to 64 characters of `A-Z a-z`, digits, `-`, `_`
//! and `.`, and begins with a letter or a digit. So no id can be a path that leaves its directory,
//! a command-line option, a hidden file or a text that only looks like another id on screen.

use uuid::Uuid;

/// The maximum length of one part.
const MAX_PART_BYTES: usize = 64;

/// The maximum length of an id. It limits how often a session can be forked from a fork.
const MAX_NAME_BYTES: usize = 1024;

/// Holds a parsed session id: with parts, or without a known form.
///
/// ```
/// use robota_core::ids::{SessionName, SessionPath};
///
/// let name = SessionName::parse("user:42/agent:dev/session:main/fork:try").unwrap();
/// let SessionName::Path(path) = &name else { panic!() };
/// assert_eq!((path.user.as_deref(), path.agent.as_str()), (Some("42"), "dev"));
/// assert_eq!(name.to_string(), "user:42/agent:dev/session:main/fork:try");
/// assert!(SessionName::parse("../../etc/passwd").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionName {
    /// A UUID in its canonical form.
    Uuid(Uuid),
    /// A name without structure, such as one that a user chose.
    Plain(String),
    /// A name with parts, such as `agent:dev/session:main`.
    Path(SessionPath),
}

/// Splits a session id into its parts: who owns the session, which agent, which conversation, which
/// forks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPath {
    /// The organisation; `None` if the name has no `org:` part.
    pub org: Option<String>,
    /// The team; `None` if the name has no `team:` part.
    pub team: Option<String>,
    /// The user; `None` if the name has no `user:` part.
    pub user: Option<String>,
    /// The template of the agent (`agent:`), which every such name has.
    pub agent: String,
    /// The session from which all forks descend.
    pub session: String,
    /// The names of the forks from the session to this one, oldest first.
    pub forks: Vec<String>,
}

/// A text that is not a valid session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be the id of a session: {reason}")]
pub struct SessionNameError {
    /// The rejected text, truncated and with control characters escaped.
    pub name: String,
    /// The rule for names that the text breaks.
    pub reason: String,
}

impl SessionName {
    /// Parses a session id.
    ///
    /// # Errors
    /// When the text has none of the three forms.
    pub fn parse(text: &str) -> Result<Self, SessionNameError> {
        Self::read(text).map_err(|reason| SessionNameError { name: printable(text), reason })
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.len() > MAX_NAME_BYTES {
            return Err(format!("it is longer than {MAX_NAME_BYTES} bytes"));
        }
        if text.contains([':', '/']) {
            return SessionPath::read(text).map(Self::Path);
        }
        // Stores make folders and keys of the parts, so nothing is accepted that has a meaning in a
        // path.
        name_part(text, "a name")?;
        // Other spellings of a UUID would not be written back as they were read.
        match Uuid::try_parse(text) {
            Ok(uuid) if uuid.to_string() == text => Ok(Self::Uuid(uuid)),
            _ => Ok(Self::Plain(text.to_owned())),
        }
    }

    /// Returns the id of a fork of this session. Only a structured name can be continued.
    ///
    /// # Errors
    /// When `fork` is not a valid part of a name, or this id is not structured.
    pub fn fork(&self, fork: &str) -> Result<Self, SessionNameError> {
        let Self::Path(path) = self else {
            return Err(SessionNameError {
                name: self.to_string(),
                reason: "only a structured name can name its forks".to_owned(),
            });
        };
        let mut path = path.clone();
        path.forks.push(fork.to_owned());
        // Parsed again: the new part may be invalid, or the whole name too long.
        Self::parse(&path.to_string())
    }
}

impl SessionPath {
    fn read(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/').peekable();
        let mut take = |key: &str| -> Result<Option<String>, String> {
            let found = parts.peek().and_then(|part| part.strip_prefix(key)?.strip_prefix(':'));
            let Some(value) = found else { return Ok(None) };
            name_part(value, key)?;
            parts.next();
            Ok(Some(value.to_owned()))
        };
        let (org, team, user) = (take("org")?, take("team")?, take("user")?);
        let agent = take("agent")?.ok_or("`agent:` is missing or out of its place")?;
        let session = take("session")?.ok_or("`session:` is missing or out of its place")?;
        let mut forks = Vec::new();
        while let Some(fork) = take("fork")? {
            forks.push(fork);
        }
        match parts.next() {
            None => Ok(Self { org, team, user, agent, session, forks }),
            Some(_) => Err("only `fork:` may follow `session:`, in the order \
                            [org:X/][team:X/][user:X/]agent:T/session:R[/fork:F]*"
                .to_owned()),
        }
    }
}

/// Checks that a text is a valid part of a name; `what` names the part in the error.
///
/// # Errors
/// The reason why the part is not valid.
pub fn name_part(text: &str, what: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match text.bytes().next() {
        None => Err(format!("{what} is empty")),
        // A first dot would make a hidden folder, and a first dash looks like an option on a
        // command line.
        Some(first) if !first.is_ascii_alphanumeric() => {
            Err(format!("{what} must begin with a letter or a digit"))
        }
        Some(_) if text.len() > MAX_PART_BYTES => {
            Err(format!("{what} is longer than {MAX_PART_BYTES} bytes"))
        }
        Some(_) if !text.bytes().all(plain) => {
            Err(format!("{what} may hold letters, digits, `-`, `_` and `.` only"))
        }
        Some(_) => Ok(()),
    }
}

/// Returns the first characters of an untrusted text, escaped for a terminal.
fn printable(text: &str) -> String {
    let cut: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() { format!("{cut}...") } else { cut }
}

impl std::fmt::Display for SessionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Plain(name) => name.fmt(f),
            Self::Path(path) => path.fmt(f),
        }
    }
}

impl std::fmt::Display for SessionPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (key, value) in [("org", &self.org), ("team", &self.team), ("user", &self.user)] {
            if let Some(value) = value {
                write!(f, "{key}:{value}/")?;
            }
        }
        write!(f, "agent:{}/session:{}", self.agent, self.session)?;
        self.forks.iter().try_for_each(|fork| write!(f, "/fork:{fork}"))
    }
}

#[cfg(test)]
mod tests;
