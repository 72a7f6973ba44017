use jiff::Timestamp;

use super::*;
use crate::event::{Delivery, InputAccepted, Renamed, SessionCreated};
use crate::ids::InputId;

fn envelope(seq: u64, second: i64, event: impl Into<Event>) -> Envelope {
    let ts = Timestamp::from_second(second).unwrap();
    Envelope { seq, epoch: 1, ts, turn: None, event: event.into(), min_reader: None }
}

fn head(id: &str, second: i64) -> SessionHead {
    let created = SessionCreated {
        session: id.into(),
        format: 0,
        cwd: Some("/w".into()),
        parent: None,
        spawned_by: None,
    };
    SessionHead::begin(id.into(), &envelope(1, second, created))
}

#[test]
fn a_head_knows_name_title_and_place() {
    let mut head = head("a", 1);
    head.apply(&envelope(2, 5, Renamed { name: "my work".into() }));
    for text in ["  fix\n the   tests ", "and more"] {
        let accepted = InputAccepted {
            input: InputId::from("i"),
            delivery: Delivery::AfterTurn,
            content: vec![Block::text(text)],
            metadata: serde_json::Map::new(),
            source: None,
        };
        head.apply(&envelope(head.last.seq + 1, 6, accepted));
    }
    assert_eq!(head.title.as_deref(), Some("fix the tests"), "the first input, on one line");
    assert_eq!(head.name.as_deref(), Some("my work"));
    assert_eq!((head.last.seq, head.updated.as_second()), (4, 6));
    assert_eq!(head.cwd.as_deref(), Some("/w"));
}

#[test]
fn pages_are_newest_first_and_miss_nothing() {
    let heads = || vec![head("a", 1), head("b", 3), head("c", 3), head("d", 2)];
    let mut filter = SessionFilter { limit: Some(3), ..SessionFilter::default() };
    let first = filter.page(heads());
    let ids = |page: &SessionPage| {
        page.sessions.iter().map(|head| head.session.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ["b", "c", "d"]);
    filter.after = first.next;
    let second = filter.page(heads());
    assert_eq!(ids(&second), ["a"]);
    assert_eq!(second.next, None);
}

#[test]
fn filters_are_by_prefix_folder_text_and_time() {
    let matches = |filter: SessionFilter| filter.matches(&head("agent:dev/session:One", 10));
    let none = SessionFilter::default;
    assert!(matches(SessionFilter { prefix: Some("agent:dev/".into()), ..none() }));
    assert!(!matches(SessionFilter { prefix: Some("agent:x/".into()), ..none() }));
    assert!(matches(SessionFilter { text: Some("oNE".into()), ..none() }));
    assert!(!matches(SessionFilter { text: Some("two".into()), ..none() }));
    assert!(!matches(SessionFilter { cwd: Some("/elsewhere".into()), ..none() }));
    let at = |second| Some(Timestamp::from_second(second).unwrap());
    assert!(matches(SessionFilter { since: at(10), until: at(11), ..none() }));
    assert!(!matches(SessionFilter { until: at(10), ..none() }));
}
