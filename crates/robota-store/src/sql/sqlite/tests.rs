use super::*;

#[tokio::test]
async fn a_file_that_is_no_database_or_a_newer_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(
        &path,
        "this is not a database, but it is long enough to be looked at".repeat(90),
    )
    .unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(error.to_string().contains("not a database"), "{error}");

    let path = folder.path().join("newer");
    drop(SqliteStore::open(&path).await.unwrap());
    Connection::open(&path).unwrap().execute("UPDATE robota_version SET version = 99", []).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(error, JournalError::Unsuitable { .. }), "{error}");
    assert!(error.to_string().contains("newer version"), "{error}");

    let error = SqliteStore::open(folder.path().join("no/such/folder")).await.unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let _store = SqliteStore::open(&path).await.unwrap();
    for name in ["db", "db-wal", "db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn statements_are_translated() {
    assert_eq!(
        translated("SELECT a FROM b WHERE ($1::TEXT IS NULL OR c COLLATE \"C\" > $2) FOR UPDATE"),
        "SELECT a FROM b WHERE (?1 IS NULL OR c > ?2)"
    );
}

#[tokio::test]
async fn events_are_searched_by_the_primary_key_and_not_scanned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    drop(SqliteStore::open(&path).await.unwrap());
    let connection = Connection::open(&path).unwrap();
    for sql in [super::super::chain::EVENTS, super::super::chain::LINES] {
        let explain = format!("EXPLAIN QUERY PLAN {}", translated(sql));
        let mut statement = connection.prepare(&explain).unwrap();
        let rows = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        let plan: Vec<_> = rows.map(Result::unwrap).collect();
        assert!(plan.iter().any(|step| step.starts_with("SEARCH e USING INDEX")), "{plan:?}");
    }
}
