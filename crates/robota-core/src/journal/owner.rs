//! Which process has a session open for writing, and how a process loses it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The process that has a session open for writing, as far as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// The host name of its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its process id on that machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Identifies the run of the process: boot of the machine, pid namespace, pid and start time.
    /// A later process with the same pid has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// When the process opened the session for writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// The text that stores save for people: `pid 4711 on host since 2026-01-01 10:00:00Z`. Unknown
/// parts are omitted.
impl fmt::Display for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "pid {pid}")?,
            None => f.write_str("an unknown process")?,
        }
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        if let Some(since) = self.since {
            write!(f, " since {}", since.strftime("%Y-%m-%d %H:%M:%SZ"))?;
        }
        Ok(())
    }
}

impl LeaseOwner {
    /// Parses the text that [`Display`](fmt::Display) writes, to the second; parts that it cannot
    /// parse are `None`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (rest, since) = text.trim().rsplit_once(" since ").unwrap_or((text.trim(), ""));
        let (process, host) = rest.split_once(" on ").unwrap_or((rest, ""));
        Self {
            host: (!host.is_empty()).then(|| host.to_owned()),
            pid: process.strip_prefix("pid ").and_then(|pid| pid.parse().ok()),
            process: None,
            since: since.replacen(' ', "T", 1).parse().ok(),
        }
    }
}

/// Why a process lost a session that it was writing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// Another process opened the session after this one's lease had expired.
    TakenOver {
        /// That process; `None` if it has closed the session since.
        owner: Option<LeaseOwner>,
    },
    /// The session was deleted while this process had it open.
    Deleted,
    /// This process could not renew its lease for so long that another machine may have taken the
    /// session over.
    NotRenewed {
        /// The time since the last renewal.
        elapsed: Duration,
    },
}

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TakenOver { owner: Some(owner) } => write!(f, "was taken over by {owner}"),
            Self::TakenOver { owner: None } => {
                f.write_str("was taken over by a writer that has closed it since")
            }
            Self::Deleted => f.write_str("was deleted"),
            Self::NotRenewed { elapsed } => {
                write!(f, "could not renew its lease for {} s", elapsed.as_secs())
            }
        }
    }
}

#[cfg(test)]
mod tests;
