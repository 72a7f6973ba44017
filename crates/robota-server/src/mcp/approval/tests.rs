use super::*;

/// Adds a waiter, and returns its number.
fn add(asked: &mut AskedCalls) -> u64 {
    let number = asked.next;
    asked.next += 1;
    asked.waiters.insert(number, HashSet::new());
    number
}

fn asking(waiter: u64, connection: u64) -> Asking {
    Asking { waiter, connection, again: None }
}

#[test]
fn another_host_is_asked_when_the_tool_call_that_asked_has_ended() {
    let (mut asked, call) = (AskedCalls::default(), CallId::from("call"));
    let (here, there) = (1, 2);
    let first = add(&mut asked);
    assert_eq!(asked.begin(asking(first, here), &call), None);
    let second = add(&mut asked);
    assert_eq!(asked.begin(asking(second, there), &call), Some(Decider::User));
    asked.waiters.remove(&first);
    // The host that was asked still shows the question.
    let third = add(&mut asked);
    assert_eq!(asked.begin(asking(third, here), &call), Some(Decider::User));
    assert_eq!(asked.begin(asking(second, there), &call), None);
    assert_eq!(asked.begin(asking(second, there), &call), Some(Decider::User));
    // The end of one question leaves the other open.
    asked.end(second, &call);
    assert_eq!(asked.begin(asking(third, here), &call), Some(Decider::User));
    asked.end(first, &call);
    assert_eq!(asked.begin(asking(third, here), &call), None);
}
