//! The stores under test, and what the child leaves beside them.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_store::{DurabilityLevel, FileStore, PostgresStore, SqlOptions, SqliteStore};

/// A store that sessions must survive in.
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

    /// Whether a failpoint lies on this store's way.
    pub(crate) fn passes(self, point: &str) -> bool {
        point.starts_with("store.sql.") == (self != Self::Files)
    }

    /// The failpoint whose every passage is a death of its own: each append, and with it each
    /// state a session can be in.
    pub(crate) fn every_append(self) -> &'static str {
        match self {
            // On disk, and nobody was told.
            Self::Files => "store.append.after_write",
            // Nothing of it is there.
            Self::Sqlite => "store.sql.append.before_commit",
            Self::Postgres => "store.sql.append.after_commit",
        }
    }
}

/// Where one trial happens: a store, the ids of its sessions, and a folder for notes.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) level: DurabilityLevel,
    /// Where the server is; empty for the others.
    pub(crate) address: String,
    pub(crate) folder: PathBuf,
    /// Every session of the trial begins with it: a server serves many trials.
    pub(crate) prefix: String,
}

impl Place {
    /// As words for the environment of a child.
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

    /// What was told to somebody, in the order it was told.
    pub(crate) fn told(&self) -> Notes {
        Notes(self.folder.join("told"))
    }

    /// What the tools did, one line a run.
    pub(crate) fn effects(&self) -> Notes {
        Notes(self.folder.join("effects"))
    }
}

/// A file of lines that outlives whoever writes it: one plain write a line.
#[derive(Debug, Clone)]
pub(crate) struct Notes(PathBuf);

impl Notes {
    pub(crate) fn add(&self, line: &str) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The whole lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("{}: {error}", self.0.display()),
        };
        // A line without an end was never wholly said.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }
}
