//! The stores under test, and the files in which a child records what it did.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_store::{DurabilityLevel, FileStore, PostgresStore, SqlOptions, SqliteStore};

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Files,
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Files, Self::Sqlite, Self::Postgres];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns whether this store can reach a failpoint.
    pub(crate) fn passes(self, point: &str) -> bool {
        point.starts_with("store.sql.") == (self != Self::Files)
    }

    /// Returns the failpoint that every append reaches. A kill at each of its hits covers every
    /// state of a session.
    pub(crate) fn every_append(self) -> &'static str {
        match self {
            // The events are on disk, and were not acknowledged.
            Self::Files => "store.append.after_write",
            // The events are not in the database.
            Self::Sqlite => "store.sql.append.before_commit",
            Self::Postgres => "store.sql.append.after_commit",
        }
    }
}

/// The store of one case, with the prefix of its session ids and a folder for records.
#[derive(Debug, Clone)]
pub(crate) struct CaseStore {
    pub(crate) kind: Kind,
    pub(crate) level: DurabilityLevel,
    /// The address of the server; empty for other stores.
    pub(crate) address: String,
    pub(crate) folder: PathBuf,
    /// The prefix of all session ids of the case, because many cases share a server.
    pub(crate) prefix: String,
}

impl CaseStore {
    /// Encodes it for the environment of a child.
    pub(crate) fn encode(&self) -> String {
        let level = match self.level {
            DurabilityLevel::Strict => "strict",
            DurabilityLevel::Barrier => "barrier",
            DurabilityLevel::Relaxed => "relaxed",
        };
        let folder = self.folder.display();
        [self.kind.name(), level, &self.address, &folder.to_string(), &self.prefix].join("|")
    }

    pub(crate) fn decode(text: &str) -> Self {
        let words: Vec<_> = text.split('|').collect();
        let [kind, level, address, folder, prefix] = words[..] else { panic!("{text}") };
        let level = match level {
            "strict" => DurabilityLevel::Strict,
            "barrier" => DurabilityLevel::Barrier,
            "relaxed" => DurabilityLevel::Relaxed,
            _ => panic!("{text}"),
        };
        Self {
            kind: Kind::named(kind).unwrap(),
            level,
            address: address.to_owned(),
            folder: folder.into(),
            prefix: prefix.to_owned(),
        }
    }

    pub(crate) async fn open(&self) -> Result<Arc<dyn JournalStore>, JournalError> {
        let options = SqlOptions { level: self.level, ..SqlOptions::default() };
        Ok(match self.kind {
            Kind::Files => {
                let store = FileStore::new(self.folder.join("sessions"));
                // Small segments: a short session has several.
                Arc::new(store.with_level(self.level).with_segment_bytes(4_000))
            }
            Kind::Sqlite => {
                Arc::new(SqliteStore::open_with(self.folder.join("sessions.db"), options).await?)
            }
            Kind::Postgres => {
                let tls = tokio_postgres::NoTls;
                Arc::new(PostgresStore::connect_with(&self.address, tls, options).await?)
            }
        })
    }

    pub(crate) fn session(&self, name: &str) -> SessionId {
        SessionId::from(format!("{}session:{name}", self.prefix))
    }

    /// Returns the file with everything that a client of the session received, in order.
    pub(crate) fn reported(&self) -> LineFile {
        LineFile(self.folder.join("reported"))
    }

    /// Returns the file with the effects of tools, one line per run.
    pub(crate) fn effects(&self) -> LineFile {
        LineFile(self.folder.join("effects"))
    }
}

/// A file to which a process appends lines, each with one write, so that a kill loses no earlier
/// line.
#[derive(Debug, Clone)]
pub(crate) struct LineFile(PathBuf);

impl LineFile {
    pub(crate) fn add(&self, line: &str) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the complete lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("{}: {error}", self.0.display()),
        };
        // The last line was not written completely.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }
}
