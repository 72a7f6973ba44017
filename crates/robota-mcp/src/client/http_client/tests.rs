use super::scope;

#[test]
fn the_scope_of_a_challenge_is_found() {
    for (challenge, expected) in [
        ("Bearer error=\"insufficient_scope\", scope=\"a b\", realm=\"x\"", Some("a b")),
        ("Bearer scope=a, realm=x", Some("a")),
        ("Bearer scope=\"\"", None),
        ("Bearer", None),
    ] {
        assert_eq!(scope(challenge).as_deref(), expected, "{challenge}");
    }
}
