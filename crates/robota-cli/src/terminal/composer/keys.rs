//! The keys of a text, as shells have them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Action;

/// What a key does in a text.
pub(super) enum Meaning {
    Letter(char),
    Action(Action),
}

/// Returns what a key does in a text.
pub(super) fn meaning(key: &KeyEvent) -> Option<Meaning> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let word = control || alt;
    let action = match key.code {
        KeyCode::Left if word => Action::WordLeft,
        KeyCode::Left => Action::Left,
        KeyCode::Right if word => Action::WordRight,
        KeyCode::Right => Action::Right,
        KeyCode::PageUp => Action::HistoryPrevious,
        KeyCode::PageDown => Action::HistoryNext,
        KeyCode::Up => Action::Up,
        KeyCode::Down => Action::Down,
        KeyCode::Home if control => Action::TextStart,
        KeyCode::Home => Action::LineStart,
        KeyCode::End if control => Action::TextEnd,
        KeyCode::End => Action::LineEnd,
        KeyCode::Backspace if word => Action::DeleteWordLeft,
        KeyCode::Backspace => Action::DeleteLeft,
        KeyCode::Delete if word => Action::DeleteWordRight,
        KeyCode::Delete => Action::DeleteRight,
        KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => Action::Newline,
        KeyCode::Enter | KeyCode::Tab => Action::AcceptSearch,
        KeyCode::Esc => Action::CancelSearch,
        // AltGr is reported as Ctrl+Alt by some systems.
        KeyCode::Char(letter) if control == alt => match (control, letter) {
            (_, letter) if !letter.is_ascii_control() => return Some(Meaning::Letter(letter)),
            _ => return None,
        },
        KeyCode::Char(letter) if control => with_control(letter.to_ascii_lowercase())?,
        KeyCode::Char(letter) => with_alt(letter.to_ascii_lowercase())?,
        _ => return None,
    };
    Some(Meaning::Action(action))
}

fn with_control(letter: char) -> Option<Action> {
    Some(match letter {
        'a' => Action::LineStart,
        'e' => Action::LineEnd,
        'b' => Action::Left,
        'f' => Action::Right,
        'p' => Action::Up,
        'n' => Action::Down,
        'd' => Action::DeleteRight,
        // Some terminals send it for Backspace.
        'h' => Action::DeleteLeft,
        'w' => Action::KillWord,
        'u' => Action::KillToLineStart,
        'k' => Action::KillToLineEnd,
        'y' => Action::Yank,
        'j' => Action::Newline,
        'r' => Action::SearchHistory,
        'o' => Action::Expand,
        // Many terminals send one byte for all of them, which is read as Ctrl+7. With the
        // keyboard protocol they are different keys.
        '_' | '-' | '/' | '7' => Action::Undo,
        _ => return None,
    })
}

fn with_alt(letter: char) -> Option<Action> {
    Some(match letter {
        'b' => Action::WordLeft,
        'f' => Action::WordRight,
        'd' => Action::DeleteWordRight,
        'z' => Action::Undo,
        'y' => Action::Redo,
        '<' => Action::TextStart,
        '>' => Action::TextEnd,
        _ => return None,
    })
}
