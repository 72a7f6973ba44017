//! A key with its modifiers.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers, such as `ctrl+o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The names of keys that are not characters.
const NAMES: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("escape", KeyCode::Esc),
    ("return", KeyCode::Enter),
];

impl Chord {
    /// Returns the chord of a key press.
    pub(crate) fn of(key: &KeyEvent) -> Self {
        Self::new(key.code, key.modifiers)
    }

    /// Reads `ctrl+o`, `shift+tab`, `esc` or `?`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text.trim();
        // The filter keeps `ctrl++`, whose key is the plus sign.
        while let Some((name, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            modifiers |= match name.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => KeyModifiers::CONTROL,
                "alt" | "option" | "meta" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                "super" | "cmd" => KeyModifiers::SUPER,
                _ => return None,
            };
            rest = after;
        }
        let lower = rest.to_lowercase();
        if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == lower) {
            return Some(Self::new(*code, modifiers));
        }
        if let Some(number) = lower.strip_prefix('f').and_then(|number| number.parse().ok()) {
            return Some(Self::new(KeyCode::F(number), modifiers));
        }
        let mut letters = rest.chars();
        let letter = letters.next()?;
        letters.next().is_none().then(|| Self::new(KeyCode::Char(letter), modifiers))
    }

    /// Terminals report the same key in several ways; each key has one chord.
    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        // The others are reported by few terminals only, and no binding can name them.
        let known =
            KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::SUPER;
        let modifiers = modifiers & known;
        match code {
            // Shift+Tab has a code of its own in most terminals.
            KeyCode::BackTab => {
                Self { code: KeyCode::Tab, modifiers: modifiers | KeyModifiers::SHIFT }
            }
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::CONTROL) => {
                Self { code: KeyCode::Char(letter.to_ascii_lowercase()), modifiers }
            }
            // Some terminals report Shift with a capital letter, others the letter only.
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::SHIFT) => Self {
                code: KeyCode::Char(letter.to_ascii_uppercase()),
                modifiers: modifiers - KeyModifiers::SHIFT,
            },
            code => Self { code, modifiers },
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (KeyModifiers::SUPER, "Super+"),
            (KeyModifiers::CONTROL, "Ctrl+"),
            (KeyModifiers::ALT, "Alt+"),
            (KeyModifiers::SHIFT, "Shift+"),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::F(number) => write!(f, "F{number}"),
            KeyCode::Char(letter) if letter != ' ' && !self.modifiers.is_empty() => {
                let shift = letter.is_ascii_uppercase();
                f.write_str(if shift { "Shift+" } else { "" })?;
                write!(f, "{}", letter.to_ascii_uppercase())
            }
            KeyCode::Char(letter) if letter != ' ' => write!(f, "{letter}"),
            code => {
                let name =
                    NAMES.iter().find(|(_, known)| *known == code).map_or("?", |(name, _)| name);
                let (first, rest) = name.split_at(1);
                write!(f, "{}{rest}", first.to_ascii_uppercase())
            }
        }
    }
}
