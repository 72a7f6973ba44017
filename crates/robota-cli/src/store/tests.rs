use std::path::Path;

use super::*;

#[test]
fn stores_have_names() {
    let cwd = Path::new("/app");
    let parse = |spec| StoreChoice::parse(spec, cwd).unwrap();
    assert_eq!(parse(None), StoreChoice::File("/app/.robota/sessions".into()));
    assert_eq!(parse(Some("file")), StoreChoice::File("/app/.robota/sessions".into()));
    assert_eq!(parse(Some("file:kept")), StoreChoice::File("/app/kept".into()));
    assert_eq!(parse(Some("sqlite:/x.db")), StoreChoice::Sqlite("/x.db".into()));
    assert!(matches!(parse(Some("postgres://a@b/c")), StoreChoice::Postgres(_)));
    for wrong in ["", "file:", "sqlite:", "mysql://x", "sessions"] {
        assert!(StoreChoice::parse(Some(wrong), cwd).is_err(), "{wrong}");
    }
}

#[test]
fn a_store_that_is_none_shows_no_password() {
    let error = StoreChoice::parse(Some("mysql://ada:hunter22@host/db"), Path::new("/app"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("mysql") && !error.contains("hunter22"), "{error}");
}

#[test]
fn the_owner_key_is_made_once_and_kept_from_others() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".robota/owner-key");
    let key = owner_key(&file).unwrap();
    assert!(key.len() >= 64);
    assert_eq!(owner_key(&file).unwrap(), key);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    }
}
