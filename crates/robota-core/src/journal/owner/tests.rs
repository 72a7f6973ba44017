use super::*;

#[test]
fn an_owner_is_read_from_its_text() {
    let owner = LeaseOwner {
        host: Some("build on 7".to_owned()),
        pid: Some(4711),
        process: None,
        since: Some("2026-01-01T10:00:00Z".parse().unwrap()),
    };
    let text = owner.to_string();
    assert_eq!(text, "pid 4711 on build on 7 since 2026-01-01 10:00:00Z");
    assert_eq!(LeaseOwner::parse(&format!("{text}\n")), owner);
    for known in [
        LeaseOwner::default(),
        LeaseOwner { pid: Some(1), ..LeaseOwner::default() },
        LeaseOwner { host: Some("h".to_owned()), ..LeaseOwner::default() },
    ] {
        assert_eq!(LeaseOwner::parse(&known.to_string()), known);
    }
    for odd in ["", "since ", "pid x on  since yesterday", "😀"] {
        assert_eq!(LeaseOwner::parse(odd).pid, None, "{odd}");
    }
}

#[test]
fn a_lost_session_is_explained() {
    let owner = Some(LeaseOwner { pid: Some(7), ..LeaseOwner::default() });
    let elapsed = Duration::from_secs(31);
    for (reason, text) in [
        (LostReason::TakenOver { owner }, "was taken over by pid 7"),
        (LostReason::Deleted, "was deleted"),
        (LostReason::NotRenewed { elapsed }, "could not renew its lease for 31 s"),
    ] {
        assert_eq!(reason.to_string(), text);
    }
}
