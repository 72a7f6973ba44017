use robota_core::event::TurnEnd;

use super::*;
use crate::terminal::effect::Effect;
use crate::terminal::event::{Event, Opened};
use crate::terminal::testing::{Harness, edit_question, opened};

fn wanted(channel: NotificationChannel, terminal: TerminalKind) -> Harness {
    let mut program = Harness::starting(80, 24);
    program.state.notifier = Notifier::new(terminal);
    let opened = Opened { notify: Some(channel), ..opened() };
    let effects = program.send(Event::Opened(Box::new(opened)));
    assert!(matches!(effects.as_slice(), [Effect::WatchFocus]), "{effects:?}");
    program
}

fn written(effects: &[Effect]) -> Option<&[u8]> {
    effects.iter().find_map(|effect| match effect {
        Effect::Write(bytes) => Some(bytes.as_slice()),
        _ => None,
    })
}

#[test]
fn nothing_is_reported_unless_it_is_wanted() {
    let mut program = Harness::open(80, 24);
    program.prompt("work");
    program.wait(60_000);
    assert!(program.send(Event::Asked(Box::new(edit_question("c1")))).is_empty());
    assert!(program.end_turn(TurnEnd::Complete).is_empty());
}

#[test]
fn a_question_and_the_end_of_a_long_turn_are_reported() {
    let mut program = wanted(NotificationChannel::TerminalBell, TerminalKind::default());
    program.prompt("work");
    program.wait(60_000);
    let effects = program.send(Event::Asked(Box::new(edit_question("c1"))));
    assert_eq!(written(&effects), Some(&[7][..]));
    let effects = program.send(Event::Asked(Box::new(edit_question("c2"))));
    assert_eq!(written(&effects), None, "the user was called already");
    let effects = program.end_turn(TurnEnd::Complete);
    assert_eq!(written(&effects), Some(&[7][..]));
    program.prompt("quick");
    program.wait(1_000);
    assert_eq!(written(&program.end_turn(TurnEnd::Complete)), None);
}

#[test]
fn a_user_who_looks_at_the_terminal_is_not_called() {
    let mut program = wanted(NotificationChannel::Iterm2, TerminalKind::default());
    program.prompt("work");
    program.wait(60_000);
    program.send(Event::Focus(true));
    assert_eq!(written(&program.send(Event::Asked(Box::new(edit_question("c1"))))), None);
    program.send(Event::Focus(false));
    let effects = program.end_turn(TurnEnd::Complete);
    let text = String::from_utf8(written(&effects).unwrap().to_vec()).unwrap();
    assert_eq!(text, "\x1b]9;The turn has ended in ~/demo\x07");
    // A terminal that does not report its focus: the last key decides.
    let mut program = wanted(NotificationChannel::TerminalBell, TerminalKind::default());
    program.prompt("work");
    program.wait(60_000);
    program.press("x");
    assert_eq!(written(&program.send(Event::Asked(Box::new(edit_question("c1"))))), None);
}

#[test]
fn the_channel_follows_the_terminal_and_passes_tmux() {
    let kind = |program: &str, tmux| TerminalKind { program: program.to_owned(), tmux };
    let report = |channel, kind| {
        let mut notifier = Notifier::new(kind);
        notifier.set_channel(Some(channel));
        String::from_utf8(notifier.report("a;b\x1b", Duration::ZERO).unwrap()).unwrap()
    };
    let auto = NotificationChannel::Auto;
    assert_eq!(report(auto, kind("iterm.app", false)), "\x1b]9;a,b\x07");
    assert_eq!(report(auto, kind("ghostty", false)), "\x1b]777;notify;Robota;a,b\x07");
    assert_eq!(report(auto, kind("xterm-kitty", false)), "\x1b]99;i=robota:d=1;a,b\x1b\\");
    assert_eq!(report(auto, kind("xterm-256color", true)), "\x07");
    let passed = report(NotificationChannel::Iterm2WithBell, kind("", true));
    assert_eq!(passed, "\x1bPtmux;\x1b\x1b]9;a,b\x07\x1b\\\x07");
}

#[test]
fn the_terminal_is_known_by_its_variables() {
    let detect = |variables: &[(&str, &'static str)]| {
        TerminalKind::detect(|name| variables.iter().find(|(key, _)| *key == name).map(|it| it.1))
    };
    assert_eq!(detect(&[("TERM_PROGRAM", "iTerm.app")]).program, "iterm.app");
    let inside = detect(&[("TERM_PROGRAM", "tmux"), ("TERM", "tmux-256color"), ("TMUX", "/tmp/x")]);
    assert_eq!((inside.program.as_str(), inside.tmux), ("tmux-256color", true));
}
