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
fn what_is_not_built_in_says_so_and_shows_no_password() {
    let cwd = Path::new("/app");
    for spec in ["sqlite:x.db", "postgres://ada:hunter22@host/db"] {
        let error = open_store(Some(spec), cwd).err().unwrap().to_string();
        assert!(error.contains("not built into this program"), "{error}");
        assert!(!error.contains("hunter22"), "{error}");
    }
}
