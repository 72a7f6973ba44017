use crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
    KeyEvent::new(code, modifiers)
}

#[test]
fn every_default_binding_is_valid_and_every_action_has_a_name() {
    for (_, chord, action) in table::BINDINGS {
        assert!(Chord::parse(chord).is_some(), "{chord}");
        assert!(Action::ALL.iter().any(|(_, named, _)| named == action), "{action:?}");
    }
}

#[test]
fn a_context_has_bindings_of_its_own_and_those_for_everywhere() {
    let keys = KeyMap::default();
    let y = key(KeyCode::Char('y'), KeyModifiers::NONE);
    assert_eq!(keys.action(Context::Question, &y), Some(Action::Yes));
    assert_eq!(keys.action(Context::Chat, &y), None);
    let ctrl_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(keys.action(Context::Question, &ctrl_c), Some(Action::ClearOrQuit));
    let back_tab = key(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(keys.action(Context::Chat, &back_tab), Some(Action::CycleMode));
}

#[test]
fn a_file_binds_and_unbinds_keys_and_reports_what_it_cannot_read() {
    let mut keys = KeyMap::default();
    let problems = keys.apply(
        r#"{"bindings": [{"context": "Chat", "bindings": {
            "ctrl+e": "chat:externalEditor", "ctrl+g": null, "ctrl+q": "chat:dance"}},
            {"context": "Elsewhere", "bindings": {}}]}"#,
    );
    assert_eq!(problems, ["unknown action `chat:dance`", "unknown context `Elsewhere`"]);
    let e = key(KeyCode::Char('e'), KeyModifiers::CONTROL);
    let g = key(KeyCode::Char('g'), KeyModifiers::CONTROL);
    assert_eq!(keys.action(Context::Chat, &e), Some(Action::Editor));
    assert_eq!(keys.action(Context::Chat, &g), None);
    assert_eq!(keys.keys(&[Context::Chat], Action::Editor), ["Ctrl+E"]);
}

#[test]
fn keys_have_readable_names() {
    let name = |text| Chord::parse(text).unwrap().to_string();
    assert_eq!(name("ctrl+shift+tab"), "Ctrl+Shift+Tab");
    assert_eq!(name("alt+p"), "Alt+P");
    assert_eq!(name("?"), "?");
    assert_eq!(name("up"), "↑");
    assert!(Chord::parse("hyper+x").is_none());
    assert!(Chord::parse("xyz").is_none());
}
