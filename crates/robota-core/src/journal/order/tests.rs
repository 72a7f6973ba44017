use super::*;
use crate::event::Renamed;

fn event(epoch: u32, seq: u64) -> Envelope {
    let event = Renamed { name: seq.to_string() }.into();
    let ts = jiff::Timestamp::UNIX_EPOCH;
    Envelope { seq, epoch, ts, turn: None, event, min_reader: None }
}

fn check(order: Order, events: &[(u32, u64)]) -> Result<usize, (Cursor, Cursor)> {
    let events: Vec<_> = events.iter().map(|(epoch, seq)| event(*epoch, *seq)).collect();
    repeated(&SessionId::from("s"), order, &events).map_err(|error| match error {
        JournalError::OutOfOrder { found, last, .. } => (found, last),
        other => panic!("{other}"),
    })
}

#[test]
fn the_overlap_with_what_is_stored_is_counted() {
    let order = Order::After(Cursor { epoch: 2, seq: 5 });
    assert_eq!(check(order, &[]), Ok(0));
    assert_eq!(check(order, &[(2, 6), (3, 7)]), Ok(0));
    assert_eq!(check(order, &[(2, 4), (2, 5), (2, 6)]), Ok(2));
    assert_eq!(check(order, &[(1, 3), (1, 4)]), Ok(2));
    assert_eq!(check(Order::Empty, &[(1, 41), (1, 42)]), Ok(0));
}

#[test]
fn new_events_overlap_with_nothing() {
    let order = Order::After(Cursor { epoch: 1, seq: 2 });
    let session = SessionId::from("s");
    assert_eq!(follows(&session, order, &[event(1, 3)]), Ok(()));
    let refused = order.refuse(&session, Cursor { epoch: 1, seq: 2 });
    assert_eq!(follows(&session, order, &[event(1, 2), event(1, 3)]), Err(refused));
}

#[test]
fn an_error_names_the_last_event_that_is_stored() {
    let last = Cursor { epoch: 2, seq: 5 };
    for (events, epoch, seq) in [
        (&[(2, 7)][..], 2, 7),
        (&[(1, 6)], 1, 6),
        (&[(2, 6), (2, 8)], 2, 8),
        (&[(2, 6), (2, 6)], 2, 6),
        (&[(2, 4), (2, 6)], 2, 6),
        (&[(2, 0)], 2, 0),
        (&[(2, u64::MAX)], 2, u64::MAX),
        // An epoch that falls within what is appended.
        (&[(3, 4), (2, 5)], 2, 5),
    ] {
        assert_eq!(check(Order::After(last), events), Err((Cursor { epoch, seq }, last)));
    }
    assert_eq!(
        check(Order::Empty, &[(1, 0)]),
        Err((Cursor { epoch: 1, seq: 0 }, Order::Empty.last()))
    );
}
