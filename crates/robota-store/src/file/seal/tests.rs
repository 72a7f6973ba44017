use super::*;

#[test]
fn a_seal_is_of_one_session_and_one_key() {
    let (ours, theirs) = (OwnerKey::new(vec![1; 32]), OwnerKey::new(vec![2; 32]));
    let (one, two) = (SessionId::from("one"), SessionId::from("two"));
    let then = jiff::Timestamp::UNIX_EPOCH;
    let seal = ours.seal(&one, then);
    assert!(ours.verify(&one, then, &seal));
    assert!(!ours.verify(&two, then, &seal));
    assert!(!ours.verify(&one, jiff::Timestamp::MAX, &seal));
    assert!(!theirs.verify(&one, then, &seal));
    assert!(!ours.verify(&one, then, ""));
    assert!(!format!("{ours:?}").contains('1'));
}
