use proptest::prelude::*;

use super::*;

type Events = Vec<(String, String)>;

fn read_with(limits: Limits, chunks: &[&[u8]]) -> Result<(Events, Option<String>), Failure> {
    let mut events = Vec::new();
    let mut sse = Sse::new(limits);
    let mut on = |name: &str, data: &str| {
        events.push((name.to_owned(), data.to_owned()));
        Ok(())
    };
    for chunk in chunks {
        sse.push(chunk, &mut on)?;
    }
    let bare = sse.finish(&mut on)?;
    Ok((events, bare))
}

fn read(text: &str) -> (Events, Option<String>) {
    read_with(Limits::default(), &[text.as_bytes()]).unwrap()
}

fn event(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

#[test]
fn line_ends_comments_bom_and_spaces() {
    let text = "\u{feff}: hello\r\nevent: a\r\ndata: 1\r\n\r\ndata:2\rdata:  3\r\rid: 4\nretry: 5\nfoo\n\ndata\n\n";
    let (events, bare) = read(text);
    assert_eq!(events, [event("a", "1"), event("", "2\n 3"), event("", "")]);
    assert_eq!(bare, None);
}

#[test]
fn a_last_event_without_blank_line_is_reported() {
    assert_eq!(read("data: 1\n\ndata: [DONE]").0, [event("", "1"), event("", "[DONE]")]);
}

#[test]
fn input_that_is_not_an_event_stream_is_returned() {
    assert_eq!(read("{\"error\":\n {}}").1.as_deref(), Some("{\"error\":\n {}}\n"));
    assert_eq!(read("<html>\ndata: x\n").1.as_deref(), Some("<html>\ndata: x\n"));
    let (events, bare) = read("data: 1\n\n[{\"error\": 1}]\n");
    assert_eq!(events, [event("", "1")]);
    assert_eq!(bare.as_deref(), Some("[{\"error\": 1}]\n"));
}

#[test]
fn lines_events_and_answers_are_limited() {
    let limits = Limits { line: 10, event: 12, response: 64 };
    let fails = |chunks: &[&[u8]]| read_with(limits, chunks).unwrap_err().message;
    assert!(fails(&[b"data: 1", b"2345"]).contains("line: more than 10"), "not ended");
    assert!(fails(&[b"data: 12345\n"]).contains("line: more than 10"), "ended");
    let long = b"data:12345\ndata:12345\ndata:12345\n\n";
    assert!(fails(&[long]).contains("event: more than 12"));
    assert!(fails(&[&[b'\n'; 65]]).contains("answer: more than 64"));
}

#[test]
fn split_utf8_characters_are_joined() {
    let text = "data: ü😀\n\n".as_bytes();
    for cut in 0..text.len() {
        let (events, _) = read_with(Limits::default(), &[&text[..cut], &text[cut..]]).unwrap();
        assert_eq!(events, [event("", "ü😀")]);
    }
}

proptest! {
    #[test]
    fn chunking_never_changes_the_events(
        text in "(data: ?|event: ?|: |\\{|<|[a-zü😀]{0,4}|\r\n|\n|\r|\n\n){0,40}",
        cuts in prop::collection::vec(0usize..200, 0..20),
    ) {
        let bytes = text.as_bytes();
        let whole = &read_with(Limits::default(), &[bytes]).unwrap();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        chunks.push(&bytes[from..]);
        prop_assert_eq!(&read_with(Limits::default(), &chunks).unwrap(), whole);
        let single: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(&read_with(Limits::default(), &single).unwrap(), whole);
    }
}
