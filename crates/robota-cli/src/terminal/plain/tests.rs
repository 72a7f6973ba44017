use robota_core::event::TurnEnd;
use robota_core::ids::{CallId, InputId};
use robota_sdk::{CommandResult, ExecutionResult, InteractiveEvent, ToolEnd, ToolState};

use super::*;
use crate::terminal::effect::Decided;
use crate::terminal::event::Size;
use crate::terminal::keys::KeyMap;
use crate::terminal::state::Facts;
use crate::terminal::testing::{command_question, edit_question, ended, opened};

/// The program, with everything that it wrote.
struct Reader {
    plain: Plain,
    now: Duration,
    written: Vec<String>,
}

impl Reader {
    fn starting() -> Self {
        let facts = Facts { folder: "~/demo".to_owned(), ..Facts::default() };
        let state = State::new(Size { columns: 80, rows: 24 }, KeyMap::default(), facts);
        Self { plain: Plain::new(state), now: Duration::ZERO, written: Vec::new() }
    }

    fn open() -> Self {
        let mut reader = Self::starting();
        assert!(!reader.plain.wants_line(), "set-up steps may need the input");
        reader.send(Event::Opened(Box::new(opened())));
        assert!(reader.plain.wants_line());
        reader
    }

    fn send(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.plain.event(event, self.now);
        self.written.extend(self.plain.speak());
        effects
    }

    fn session(&mut self, event: InteractiveEvent) {
        self.send(Event::Session(event));
    }

    /// Enters a line after the user had time to read.
    fn enter(&mut self, line: &str) -> Vec<Effect> {
        self.now += Duration::from_secs(1);
        let effects = self.plain.line(Some(line), self.now);
        self.written.extend(self.plain.speak());
        effects
    }

    fn prompt(&mut self, text: &str) {
        let (input, text) = (InputId::from("i1"), text.to_owned());
        self.session(InteractiveEvent::PromptAccepted { input: input.clone(), text: text.clone() });
        self.session(InteractiveEvent::Thinking { active: true });
        self.session(InteractiveEvent::PromptStarted { input, text });
    }

    /// Returns what was written since the last call.
    fn take(&mut self) -> String {
        std::mem::take(&mut self.written).join("\n")
    }
}

#[test]
fn a_turn_is_written_line_by_line_and_once() {
    let mut reader = Reader::open();
    assert!(reader.take().starts_with("Ready in ~/demo."));
    let effects = reader.enter("say hello");
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "say hello"));
    reader.prompt("say hello");
    assert_eq!(reader.take(), "", "the terminal shows what was typed");
    reader.session(InteractiveEvent::TextDelta { text: "Hello **there**.\n\nSecond".to_owned() });
    assert_eq!(reader.take(), "Hello there.", "a paragraph is written when it is complete");
    reader.session(InteractiveEvent::ToolStart(ToolState::new(CallId::from("c1"), "Bash", "make")));
    assert_eq!(reader.take(), "Second\nRunning make");
    reader.session(InteractiveEvent::ToolOutput {
        call: CallId::from("c1"),
        text: "ok\n".to_owned(),
    });
    let mut state = ended("c1", "Bash", "make", ToolEnd::Success);
    state.output = Some("ok\n".to_owned());
    reader.session(InteractiveEvent::ToolEnd(state));
    assert_eq!(reader.take(), "Ran make\nok");
    reader.session(InteractiveEvent::Thinking { active: false });
    let result = Box::new(ExecutionResult::new(TurnEnd::Complete));
    reader.session(InteractiveEvent::Complete(result));
    assert_eq!(reader.take(), "Ready.");
}

#[test]
fn a_question_is_numbered_lines_and_a_number_answers_it() {
    let mut reader = Reader::open();
    reader.prompt("fix it");
    reader.take();
    reader.send(Event::Asked(Box::new(edit_question("c1"))));
    let text = reader.take();
    let expected = [
        "Question: Wants to edit src/app.py",
        "Reason: mode default asks before edits",
        "Removes line 5:     return \"Hello, \" + name",
        "Adds line 5:     # f-strings are clearer",
        "1. Yes, once",
        "2. Yes, in this session: Edit(src/app.py)",
        "3. Yes, always: Edit(src/app.py), saved for this folder",
        "4. No",
        "5. Stop the turn",
    ];
    for line in expected {
        assert!(text.lines().any(|shown| shown == line), "{line}:\n{text}");
    }
    assert!(!text.contains("Type a number"), "it takes no answers yet: {text}");
    assert_eq!(reader.plain.next_change(), Some(reader.now + Duration::from_millis(300)));
    reader.now += Duration::from_secs(1);
    reader.send(Event::Clock);
    assert_eq!(reader.take(), "Type a number and press Enter. A note may follow the number.");
    assert_eq!(reader.plain.next_change(), None);
    assert!(reader.enter("9").is_empty());
    assert_eq!(reader.take(), "Type a number from 1 to 5.");
    let effects = reader.enter("4 use the other file");
    let [Effect::Decide { answer: Decided::Deny, note: Some(note), .. }] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(note, "use the other file");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer() {
    let mut reader = Reader::open();
    reader.prompt("clean");
    reader.send(Event::Asked(Box::new(command_question("c1", "make clean", &[]))));
    let now = reader.now;
    let effects = reader.plain.line(Some("1"), now);
    assert!(matches!(effects.as_slice(), [Effect::Enter(_)]), "{effects:?}");
    let effects = reader.enter("1");
    assert!(matches!(effects.as_slice(), [Effect::Decide { .. }]), "{effects:?}");
}

#[test]
fn trust_is_a_numbered_question_too() {
    let mut reader = Reader::starting();
    reader.send(Event::TrustNeeded(vec!["settings.json: `hooks` = …".to_owned()]));
    let text = reader.take();
    assert!(
        text.contains("settings.json: `hooks`") && text.contains("\n1. Trust them\n"),
        "{text}"
    );
    assert!(reader.plain.wants_line());
    assert!(matches!(reader.enter("2").as_slice(), [Effect::Trust(false)]));
}

#[test]
fn a_question_of_the_model_is_answered_by_numbers_or_words() {
    for (line, expected) in [("2", "blue"), ("1, 2", "red, blue"), ("neither", "neither")] {
        let mut reader = Reader::open();
        reader.prompt("paint");
        reader.take();
        let options = ["red", "blue"].map(|it| robota_tools::AnswerOption::Label(it.to_owned()));
        let question = Box::new(robota_tools::UserQuestion {
            question: "Which?".to_owned(),
            header: None,
            options: Some(options.to_vec()),
            multi_select: Some(true),
        });
        reader.send(Event::UserAsked { id: 3, question });
        assert_eq!(reader.take(), "Question: Which?\n1. red\n2. blue");
        let effects = reader.enter(line);
        let [Effect::AnswerUser { id: 3, answer: Some(answer) }] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(answer, expected);
    }
}

#[test]
fn commands_open_no_pages_and_the_end_of_the_input_quits() {
    let mut reader = Reader::open();
    let effects = reader.enter("/context");
    assert!(matches!(effects.as_slice(), [Effect::Enter(draft)] if draft.text == "/context"));
    let result = CommandResult::ok("12 of 100 tokens");
    reader.take();
    reader.send(Event::CommandDone { typed: "/context".to_owned(), result });
    assert_eq!(reader.take(), "12 of 100 tokens");
    reader.prompt("work");
    assert!(matches!(reader.enter("/stop").as_slice(), [Effect::Interrupt]));
    let now = reader.now;
    assert!(matches!(reader.plain.line(None, now).as_slice(), [Effect::Quit]));
}

#[test]
fn settings_are_deleted_only_when_it_is_entered_twice() {
    let mut reader = Reader::open();
    reader.take();
    assert!(reader.enter("/reset").is_empty());
    assert!(reader.take().starts_with("This deletes your settings"));
    assert!(matches!(reader.enter("/reset").as_slice(), [Effect::Enter(_)]));
}

#[test]
fn escape_sequences_reach_no_line() {
    let mut reader = Reader::open();
    reader.prompt("x");
    let asked = command_question("c1", "echo \u{1b}[2J\u{7}", &[]);
    reader.send(Event::Asked(Box::new(asked)));
    reader.session(InteractiveEvent::TextDelta { text: "a\u{1b}[31mb\n\n".to_owned() });
    assert!(!reader.take().contains(['\u{1b}', '\u{7}']));
}

#[test]
fn a_rule_for_more_commands_than_this_one_is_confirmed() {
    let mut reader = Reader::open();
    reader.prompt("test it");
    let rules = ["Bash(cargo test *)"];
    reader.send(Event::Asked(Box::new(command_question("c1", "cargo test -p core", &rules))));
    reader.take();
    assert!(reader.enter("3").is_empty());
    assert!(reader.take().contains("This rule allows other commands too: Bash(cargo test *)."));
    let effects = reader.enter("3");
    let answer = Decided::Allow(robota_core::approve::Scope::Always);
    assert!(
        matches!(effects.as_slice(), [Effect::Decide { answer: given, .. }] if *given == answer),
        "{effects:?}"
    );
}

/// A question of an agent that works in the background, while the turn continues.
fn background_question(call: &str, command: &str) -> Event {
    let mut asked = command_question(call, command, &[]);
    asked.agent = Some("worker".to_owned());
    Event::Asked(Box::new(asked))
}

fn text(reader: &mut Reader, text: &str) {
    reader.session(InteractiveEvent::TextDelta { text: format!("{text}\n\n") });
}

#[test]
fn lines_of_a_turn_follow_the_answer_of_an_open_question() {
    let mut reader = Reader::open();
    reader.prompt("go");
    reader.take();
    text(&mut reader, "Before.");
    reader.send(background_question("c1", "make"));
    assert!(reader.take().starts_with("Before.\nQuestion: worker: Wants to run make\n"));
    text(&mut reader, "First.");
    reader.session(InteractiveEvent::ToolStart(ToolState::new(CallId::from("c2"), "Bash", "ls")));
    assert_eq!(reader.take(), "", "nothing separates the question from its answer");
    reader.now += Duration::from_secs(1);
    reader.send(Event::Clock);
    assert_eq!(reader.take(), "Type a number and press Enter. A note may follow the number.");
    // Replies to what the user enters do not wait.
    assert!(reader.enter("9").is_empty());
    assert_eq!(reader.take(), "Type a number from 1 to 3.");
    reader.enter("/context");
    let (typed, result) = ("/context".to_owned(), CommandResult::ok("12 of 100 tokens"));
    reader.session(InteractiveEvent::ToolEnd(ended("c2", "Bash", "ls", ToolEnd::Success)));
    reader.send(Event::CommandDone { typed, result });
    assert_eq!(reader.take(), "12 of 100 tokens");
    let effects = reader.enter("1");
    assert!(matches!(effects.as_slice(), [Effect::Decide { .. }]), "{effects:?}");
    let expected = "First.\nRunning ls\nRan ls\nworker: Wants to run make: you allowed it once";
    assert_eq!(reader.take(), expected);
    text(&mut reader, "Third.");
    assert_eq!(reader.take(), "Third.");
}

#[test]
fn held_lines_come_between_two_questions() {
    let mut reader = Reader::open();
    reader.prompt("go");
    reader.send(background_question("c1", "make"));
    text(&mut reader, "First.");
    reader.send(background_question("c2", "make test"));
    reader.take();
    reader.now += Duration::from_secs(1);
    // The answer and the next line arrive together.
    reader.plain.line(Some("2"), reader.now);
    reader.session(InteractiveEvent::TextDelta { text: "Second.\n\n".to_owned() });
    let written = reader.take();
    let parts =
        ["First.", "worker: Wants to run make: you refused it", "Second.", "Question 2 of 2"];
    let at: Vec<_> = parts.iter().map(|part| written.find(part)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}: {written}");
    text(&mut reader, "Third.");
    assert_eq!(reader.take(), "", "the second question is open");
    reader.send(Event::Withdrawn(CallId::from("c2")));
    assert_eq!(reader.take(), "Third.");
}

#[test]
fn stopping_the_turn_is_an_answer() {
    let mut reader = Reader::open();
    reader.prompt("go");
    reader.send(Event::Asked(Box::new(command_question("c1", "make", &[]))));
    reader.session(InteractiveEvent::ToolStart(ToolState::new(CallId::from("c2"), "Bash", "ls")));
    reader.take();
    assert!(matches!(reader.enter("3").as_slice(), [Effect::Interrupt]));
    assert_eq!(reader.take(), "Running ls");
}

#[test]
fn a_session_that_ends_with_an_open_question_loses_no_line() {
    let mut reader = Reader::open();
    reader.prompt("go");
    reader.send(background_question("c1", "make"));
    text(&mut reader, "First.");
    text(&mut reader, "Second.");
    reader.take();
    assert!(matches!(reader.plain.line(None, reader.now).as_slice(), [Effect::Quit]));
    assert_eq!(reader.plain.speak(), Vec::<String>::new());
    assert_eq!(reader.plain.finish(), ["First.", "Second."]);
    assert_eq!(reader.plain.finish(), Vec::<String>::new());
}
