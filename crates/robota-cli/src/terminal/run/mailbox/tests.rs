use robota_core::ids::CallId;

use super::*;

fn delta(text: &str) -> Event {
    Event::Session(InteractiveEvent::TextDelta { text: text.to_owned() })
}

fn output(call: &str, text: String) -> Event {
    Event::Session(InteractiveEvent::ToolOutput { call: CallId::from(call), text })
}

#[test]
fn pieces_of_text_become_one_event() {
    let mailbox = Mailbox::new().unwrap();
    for piece in ["a", "b", "c"] {
        mailbox.send(delta(piece));
    }
    mailbox.send(Event::Clock);
    mailbox.send(delta("d"));
    let events = mailbox.drain();
    assert_eq!(events.len(), 3);
    let Event::Session(InteractiveEvent::TextDelta { text }) = &events[0] else { panic!() };
    assert_eq!(text, "abc");
    assert!(mailbox.drain().is_empty());
}

#[test]
fn unread_output_is_bounded() {
    let mailbox = Mailbox::new().unwrap();
    for _ in 0..100 {
        mailbox.send(output("a", "x".repeat(10_000)));
    }
    mailbox.send(output("b", "y".to_owned()));
    let events = mailbox.drain();
    assert_eq!(events.len(), 2);
    let Event::Session(InteractiveEvent::ToolOutput { text, .. }) = &events[0] else { panic!() };
    assert!(text.len() <= OUTPUT_LIMIT, "{}", text.len());
}

#[test]
fn the_reader_is_woken_once_for_all_that_waits() {
    let mailbox = Mailbox::new().unwrap();
    mailbox.send(delta("a"));
    mailbox.send(Event::Clock);
    mailbox.drain();
    // The byte of the first event was taken: another one wakes the reader again.
    mailbox.send(Event::Clock);
    assert_eq!((&mailbox.0.woken).read(&mut [0; 8]).unwrap(), 1);
}
