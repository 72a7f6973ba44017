use robota_core::ids::CountingIds;

use super::*;

#[test]
fn kode_04_selectors_round_trip() {
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
    let error = "agent:dev/session:a\nb@sfp:1".parse::<SnapshotId>().unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    assert!("../x@sfp:1".parse::<SnapshotId>().is_err());
}

#[test]
fn kode_11_a_fork_of_a_structured_name_is_named_below_it() {
    let ids = CountingIds::default();
    let fork = fork_id(&SessionId::from("agent:dev/session:main"), &ids);
    assert!(fork.as_str().starts_with("agent:dev/session:main/fork:"), "{fork}");
    let fork = fork_id(&SessionId::from("main"), &ids);
    assert!(!fork.as_str().contains("main"), "{fork}");
}
