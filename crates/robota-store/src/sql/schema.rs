//! The tables and their migrations: one step per version.

use robota_core::journal::JournalError;

use super::{Tx, Value};

/// The migrations, oldest first, with PostgreSQL's types. SQLite accepts them as they are.
pub(super) const STEPS: &[&[&str]] = &[
    &[
        "CREATE TABLE robota_journals (
            id BIGINT PRIMARY KEY,
            parent BIGINT REFERENCES robota_journals (id),
            parent_at BIGINT
        )",
        "CREATE INDEX robota_journals_parent ON robota_journals (parent)",
        "CREATE TABLE robota_sessions (
            session TEXT PRIMARY KEY,
            journal BIGINT NOT NULL REFERENCES robota_journals (id),
            head TEXT,
            updated BIGINT,
            cwd TEXT,
            last_seq BIGINT,
            last_epoch BIGINT,
            bytes BIGINT NOT NULL DEFAULT 0,
            lease TEXT,
            lease_process TEXT,
            lease_token BIGINT NOT NULL DEFAULT 0,
            lease_expires BIGINT
        )",
        "CREATE INDEX robota_sessions_updated ON robota_sessions (updated)",
        "CREATE INDEX robota_sessions_journal ON robota_sessions (journal)",
        "CREATE TABLE robota_events (
            journal BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            line BYTEA NOT NULL,
            PRIMARY KEY (journal, seq)
        )",
        // The head after some events, so that a fork need not fold from the beginning.
        "CREATE TABLE robota_heads (
            journal BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            head TEXT NOT NULL,
            PRIMARY KEY (journal, seq)
        )",
        "CREATE TABLE robota_blobs (sha256 TEXT PRIMARY KEY, bytes BYTEA NOT NULL)",
        "CREATE TABLE robota_refs (
            session TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (session, sha256)
        )",
        "CREATE INDEX robota_refs_sha256 ON robota_refs (sha256)",
        "CREATE TABLE robota_raw (
            journal BIGINT NOT NULL,
            sha256 TEXT NOT NULL,
            bytes BYTEA NOT NULL,
            PRIMARY KEY (journal, sha256)
        )",
    ],
    &[
        // The row that every append updates: narrow, without an index over the changing columns,
        // and with room in the page for the next version of the row (PostgreSQL's HOT updates).
        "CREATE TABLE robota_leases (
            journal BIGINT PRIMARY KEY,
            token BIGINT NOT NULL,
            expires BIGINT,
            last_seq BIGINT NOT NULL,
            last_epoch BIGINT NOT NULL
        ) WITH (fillfactor = 70)",
        "INSERT INTO robota_leases (journal, token, expires, last_seq, last_epoch)
            SELECT journal, lease_token, lease_expires, COALESCE(last_seq, 0),
                   COALESCE(last_epoch, 0)
            FROM robota_sessions",
        "ALTER TABLE robota_sessions DROP COLUMN last_seq",
        "ALTER TABLE robota_sessions DROP COLUMN last_epoch",
        "ALTER TABLE robota_sessions DROP COLUMN lease_token",
        "ALTER TABLE robota_sessions DROP COLUMN lease_expires",
        "DROP TABLE robota_raw",
    ],
];

/// Brings the tables up to date. The caller prevents that two processes do this at the same time.
pub(super) async fn migrate(tx: &mut dyn Tx, place: &str) -> Result<(), JournalError> {
    tx.execute("CREATE TABLE IF NOT EXISTS robota_version (version BIGINT NOT NULL)", vec![])
        .await?;
    let version = match tx.first("SELECT version FROM robota_version", vec![]).await? {
        Some(mut row) => row.int()?,
        None => {
            tx.execute("INSERT INTO robota_version (version) VALUES (0)", vec![]).await?;
            0
        }
    };
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    if done > STEPS.len() {
        return Err(JournalError::Unsuitable {
            place: place.to_owned(),
            reason: format!(
                "a newer version created it (its tables have version {version}, this version supports {})",
                STEPS.len()
            ),
        });
    }
    for step in &STEPS[done..] {
        for statement in *step {
            tx.execute(statement, vec![]).await?;
        }
    }
    if done < STEPS.len() {
        let version = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
        tx.execute("UPDATE robota_version SET version = $1", vec![Value::Int(version)]).await?;
    }
    Ok(())
}
