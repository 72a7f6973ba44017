use robota_core::event::{Envelope, Event as Recorded, Renamed as Name};

use super::*;
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

#[test]
fn a_prompt_that_is_entered_after_a_fork_waits_for_the_fork() {
    let mut program = Harness::open(80, 24);
    program.type_text("/resume");
    program.press("enter");
    let (ts, event) = (Timestamp::UNIX_EPOCH, Recorded::from(Name { name: "owls".to_owned() }));
    let first = Envelope { seq: 1, epoch: 1, ts, turn: None, event, min_reader: None };
    let found = LoadedSessions(Ok(vec![SessionHead::begin("other".into(), &first)]), ts);
    program.send(Event::Answered(Box::new(found)));
    let effects = program.press("ctrl+f");
    assert!(matches!(effects.as_slice(), [Effect::Switch { fork: true, .. }]), "{effects:?}");
    program.type_text("more");
    assert!(program.press("enter").is_empty());
    let effects = program.send(Event::Opened(Box::default()));
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "more"));
}
