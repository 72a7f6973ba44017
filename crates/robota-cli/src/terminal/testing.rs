//! A terminal in memory: update, view and screen as the program runs them, by real key events.

use std::num::NonZeroU16;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use robota_core::event::TurnEnd;
use robota_core::ids::{CallId, InputId};
use robota_sdk::{CommandInfo, ExecutionResult, InteractiveEvent, ToolEnd, ToolState};

use super::effect::Effect;
use super::event::{Asked, Event, Opened, Preview, Size};
use super::keys::KeyMap;
use super::screen::{Narrowing, Screen};
use super::state::{Facts, State};
use super::theme::{Colours, Theme};
use super::{diff, update, view};

/// The program without its threads.
pub(crate) struct Harness {
    pub(crate) state: State,
    screen: Screen,
    terminal: vt100::Parser,
    /// Everything that was written.
    pub(crate) bytes: Vec<u8>,
}

fn short(number: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(number).unwrap()).unwrap()
}

impl Harness {
    /// Creates a program whose session is not open yet.
    pub(crate) fn starting(columns: usize, rows: usize) -> Self {
        Self::with_theme(columns, rows, Colours::Dark)
    }

    pub(crate) fn with_theme(columns: usize, rows: usize, colours: Colours) -> Self {
        let size = Size { columns, rows };
        let facts = Facts {
            folder: "~/demo".to_owned(),
            branch: Some("main".to_owned()),
            ..Facts::default()
        };
        let mut harness = Self {
            state: State::new(size, KeyMap::default(), facts),
            screen: Screen::new(Theme::new(colours, false), Narrowing::Cuts, columns, rows),
            terminal: vt100::Parser::new(short(rows), short(columns), 10_000),
            bytes: Vec::new(),
        };
        harness.draw();
        harness
    }

    /// Creates a program whose session is open.
    pub(crate) fn open(columns: usize, rows: usize) -> Self {
        let mut harness = Self::starting(columns, rows);
        harness.send(Event::Opened(Box::new(opened())));
        harness
    }

    /// Takes an event and draws.
    pub(crate) fn send(&mut self, event: Event) -> Vec<Effect> {
        let effects = update::update(&mut self.state, event);
        self.draw();
        effects
    }

    pub(crate) fn session(&mut self, event: InteractiveEvent) -> Vec<Effect> {
        self.send(Event::Session(event))
    }

    /// Presses a key by its name, such as `ctrl+c`.
    pub(crate) fn press(&mut self, name: &str) -> Vec<Effect> {
        self.send(Event::Key(key(name)))
    }

    /// Types letters, one after the other.
    pub(crate) fn type_text(&mut self, text: &str) -> Vec<Effect> {
        let keys =
            text.chars().map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        keys.collect::<Vec<_>>().into_iter().flat_map(|key| self.send(Event::Key(key))).collect()
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.state.now += Duration::from_millis(milliseconds);
        self.send(Event::Clock);
    }

    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.screen_mut().set_size(short(rows), short(columns));
        self.screen.resize(columns, rows);
        self.send(Event::Resize(Size { columns, rows }));
    }

    fn draw(&mut self) {
        let size = self.state.size;
        let frame = view::view(&mut self.state, size);
        let mut out = Vec::new();
        if let Some((lines, cursor)) = frame.page {
            self.screen.enter_full(&mut out).unwrap();
            self.screen.draw_full(&lines, cursor, &mut out).unwrap();
        } else {
            self.screen.leave_full(&mut out).unwrap();
            self.screen.commit(frame.finished);
            self.screen.draw(&frame.live, frame.cursor, &mut out).unwrap();
        }
        self.terminal.process(&out);
        self.bytes.extend(out);
    }

    /// Returns what the terminal shows, without blanks at the ends of lines.
    pub(crate) fn shown(&self) -> String {
        let screen = self.terminal.screen();
        let rows: Vec<_> =
            screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Starts a turn by a prompt, as the session reports it.
    pub(crate) fn prompt(&mut self, text: &str) {
        let input = InputId::from("input-1");
        let text = text.to_owned();
        self.session(InteractiveEvent::PromptAccepted { input: input.clone(), text: text.clone() });
        self.session(InteractiveEvent::Thinking { active: true });
        self.session(InteractiveEvent::PromptStarted { input, text });
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.session(InteractiveEvent::TextDelta { text: text.to_owned() });
    }

    pub(crate) fn start_tool(&mut self, call: &str, tool: &str, argument: &str) {
        let state = ToolState::new(CallId::from(call), tool, argument);
        self.session(InteractiveEvent::ToolStart(state));
    }

    pub(crate) fn tool_output(&mut self, call: &str, text: &str) {
        let (call, text) = (CallId::from(call), text.to_owned());
        self.session(InteractiveEvent::ToolOutput { call, text });
    }

    /// Ends a call, with its output and exit code.
    pub(crate) fn end_tool(&mut self, state: ToolState) {
        self.session(InteractiveEvent::ToolEnd(state));
    }

    pub(crate) fn end_turn(&mut self, end: TurnEnd) -> Vec<Effect> {
        self.session(InteractiveEvent::Thinking { active: false });
        let result = Box::new(ExecutionResult::new(end));
        self.session(match end {
            TurnEnd::Interrupted => InteractiveEvent::Interrupted(result),
            _ => InteractiveEvent::Complete(result),
        })
    }
}

/// Returns the state of a call that ended.
pub(crate) fn ended(call: &str, tool: &str, argument: &str, end: ToolEnd) -> ToolState {
    let mut state = ToolState::new(CallId::from(call), tool, argument);
    state.running = false;
    state.end = Some(end);
    state
}

/// Returns the event of a key by its name.
pub(crate) fn key(name: &str) -> KeyEvent {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    for (prefix, modifier) in [
        ("ctrl+", KeyModifiers::CONTROL),
        ("alt+", KeyModifiers::ALT),
        ("shift+", KeyModifiers::SHIFT),
    ] {
        if let Some(after) = rest.strip_prefix(prefix) {
            modifiers |= modifier;
            rest = after;
        }
    }
    let code = match rest {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

pub(crate) fn opened() -> Opened {
    Opened {
        session: "5f0c".to_owned(),
        model: "model-x".to_owned(),
        sandbox: "off".to_owned(),
        commands: vec![
            CommandInfo::new("compact", "Summarises the conversation"),
            CommandInfo::new("context", "Shows what fills the context window"),
            CommandInfo::new("cost", "Shows tokens and price"),
        ],
        ..Opened::default()
    }
}

/// Returns a question about an edit.
pub(crate) fn edit_question(call: &str) -> Asked {
    let old =
        "import sys\n\n\ndef greet(name):\n    return \"Hello, \" + name\n\n\ngreet(sys.argv[1])\n";
    let new = "import sys\n\n\ndef greet(name):\n    # f-strings are clearer\n    greeting = \"你好\" if name == \"世界\" else \"Hello\"\n    return f\"{greeting}, {name}!\"\n\n\ngreet(sys.argv[1])\n";
    Asked {
        call: CallId::from(call),
        tool: "Edit".to_owned(),
        argument: "src/app.py".to_owned(),
        reason: "mode default asks before edits".to_owned(),
        rules: vec!["Edit(src/app.py)".to_owned()],
        preview: Preview::Diff { path: "src/app.py".to_owned(), lines: diff::between(old, new) },
        agent: None,
    }
}

/// Returns a question about a command.
pub(crate) fn command_question(call: &str, command: &str, rules: &[&str]) -> Asked {
    Asked {
        call: CallId::from(call),
        tool: "Bash".to_owned(),
        argument: command.to_owned(),
        reason: "mode default asks before commands".to_owned(),
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        preview: Preview::Command { command: command.to_owned(), tree: Vec::new() },
        agent: None,
    }
}
