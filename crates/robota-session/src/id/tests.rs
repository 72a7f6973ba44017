use super::*;

#[test]
fn kode_11_structured_ids_are_read_and_written_back() {
    for id in [
        "agent:assistant/session:abc123",
        "org:acme/team:eng/user:42/agent:pm/session:xyz789",
        "agent:dev/session:main/fork:branch1/fork:branch2",
        "user:me/agent:a/session:b",
    ] {
        let name: SessionName = id.parse().unwrap();
        assert_eq!(name.to_string(), id);
        check_id(&SessionId::from(id)).unwrap();
    }
    let name = SessionName::new("dev", "main").unwrap();
    assert_eq!(name.fork("b1").unwrap().to_string(), "agent:dev/session:main/fork:b1");
    assert_eq!(name.fork("b1").unwrap().forks(), ["b1"]);
}

#[test]
fn kode_11_hostile_ids_are_refused() {
    for id in [
        "",
        "main",
        "agent:dev",
        "session:main",
        "session:main/agent:dev",
        "agent:dev/session:main/",
        "agent:dev/session:..",
        "agent:dev/session:../../etc",
        "agent:dev/session:a\0b",
        "agent:dev/session:a\\b",
        "agent:dev/session:a b",
        "agent:/session:main",
        "agent:dev/session:main/session:two",
        "team:a/org:b/agent:dev/session:main",
        "agent:dev/session:main@label:x",
        "agent:dev/session:ünï",
        &format!("agent:dev/session:{}", "x".repeat(65)),
        &format!("agent:dev/session:main{}", "/fork:x".repeat(200)),
        "{019ac6a0-0000-7000-8000-000000000000}",
    ] {
        assert!(check_id(&SessionId::from(id)).is_err(), "{id}");
    }
    check_id(&SessionId::from("019ac6a0-0000-7000-8000-000000000000")).unwrap();
    let error = "agent:dev/session:a\nb".parse::<SessionName>().unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn kode_04_places_are_read_and_written_back() {
    for (text, place) in [
        ("latest", Selector::Latest),
        ("sfp:3", Selector::SafePoint(3)),
        ("label:before-it", Selector::Label("before-it".to_owned())),
        ("3-1042", Selector::At(Cursor { epoch: 3, seq: 1042 })),
    ] {
        assert_eq!(text.parse::<Selector>().unwrap(), place);
        let whole = format!("agent:dev/session:main@{text}");
        let id: SnapshotId = whole.parse().unwrap();
        assert_eq!((id.place.clone(), id.to_string()), (place, whole));
    }
    for bad in ["", "sfp:0", "sfp:x", "label:", "label:../x", "label:a/b", "here", "label:.hid"] {
        assert!(bad.parse::<Selector>().is_err(), "{bad}");
    }
    assert!("../x@sfp:1".parse::<SnapshotId>().is_err());
}
