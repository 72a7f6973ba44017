use super::*;

fn slots(limit: usize) -> Slots {
    Slots::new([(TaskKind::Agent, limit), (TaskKind::Process, 1)].into())
}

#[test]
fn a_large_group_does_not_hold_up_others() {
    let mut slots = slots(2);
    for number in 0..5 {
        slots.add(format!("g{number}").into(), TaskKind::Agent, Some("group".into()));
    }
    slots.add("single".into(), TaskKind::Agent, None);
    assert_eq!(slots.take_next().unwrap().as_str(), "g0");
    assert_eq!(slots.take_next().unwrap().as_str(), "single");
    assert_eq!(slots.take_next(), None);
    slots.add("other".into(), TaskKind::Agent, Some("second".into()));
    slots.free(&"single".into());
    assert_eq!(slots.take_next().unwrap().as_str(), "other");
    slots.free(&"other".into());
    assert_eq!(slots.take_next().unwrap().as_str(), "g1");
}

#[test]
fn kinds_have_slots_of_their_own() {
    let mut slots = slots(1);
    slots.add("a".into(), TaskKind::Agent, None);
    slots.add("b".into(), TaskKind::Agent, None);
    slots.add("p".into(), TaskKind::Process, None);
    assert_eq!(slots.take_next().unwrap().as_str(), "a");
    assert_eq!(slots.take_next().unwrap().as_str(), "p");
    assert_eq!(slots.take_next(), None);
    assert!(!slots.is_free(TaskKind::Process) && slots.withdraw(&"b".into()));
    assert!(!slots.withdraw(&"a".into()));
}
