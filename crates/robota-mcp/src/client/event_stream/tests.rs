#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn events_are_split_however_they_arrive() {
    let text = ": hello\r\nevent: endpoint\r\ndata: /post?s=1\r\n\r\nid: 3\nid: 4\nretry: 50\nunknown\ndata: {\"a\":\ndata: 1}\n\n";
    let expected = [
        Event { name: "endpoint".to_owned(), data: "/post?s=1".to_owned(), ..Event::default() },
        Event {
            data: "{\"a\":\n1}".to_owned(),
            id: Some("4".to_owned()),
            retry: Some(50),
            ..Event::default()
        },
    ];
    for size in [1, 2, 3, 7, 1_000] {
        let mut parser = Parser::default();
        let found: Vec<_> =
            text.as_bytes().chunks(size).flat_map(|chunk| parser.push(chunk).unwrap()).collect();
        assert_eq!(found, expected, "chunks of {size}");
    }
}

#[test]
fn an_endless_event_ends_the_stream() {
    let mut parser = Parser::default();
    let chunk = vec![b'x'; 1024 * 1024];
    assert!((0..17).any(|_| parser.push(&chunk).is_err()));
}
