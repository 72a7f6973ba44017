use std::sync::mpsc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use robota_sdk::CommandInfo;

use super::trigger::mention;
use super::{Batch, Limits, Popup, PopupOutcome, Walk, matching_files};
use crate::terminal::composer::Composer;
use crate::terminal::text::Line;

fn commands() -> Vec<CommandInfo> {
    let with = |name: &str, description: &str, hint: Option<&str>| {
        let mut command = CommandInfo::new(name, description);
        command.argument_hint = hint.map(str::to_owned);
        command
    };
    let mut memory = with("memory", "Show what is remembered", None);
    memory.subcommands =
        vec![with("list", "List the entries", None), with("edit", "Edit an entry", Some("<name>"))];
    let mut hidden = with("hidden", "Not for users", None);
    hidden.user_invocable = false;
    vec![
        with("clear", "Begin a new conversation", None),
        with("compact", "Summarise the conversation", Some("[focus]")),
        with("context", "What fills the window", None),
        memory,
        with("model", "Choose the model", Some("[name]")),
        hidden,
    ]
}

struct Field {
    popup: Popup,
    composer: Composer,
}

impl Field {
    fn new() -> Self {
        let mut popup = Popup::default();
        popup.set_commands(&commands());
        Self { popup, composer: Composer::default() }
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.composer.insert_char(letter);
            self.popup.update(&self.composer);
        }
        self
    }

    fn press(&mut self, code: KeyCode) -> PopupOutcome {
        self.popup.key(&KeyEvent::new(code, KeyModifiers::NONE), &mut self.composer)
    }

    fn rows(&self) -> Vec<String> {
        self.popup.view(80, 20).iter().map(|line| line.plain().trim_end().to_owned()).collect()
    }

    fn names(&self) -> Vec<String> {
        let rows = self.rows();
        let name = |row: &String| row[row.char_indices().nth(2).unwrap().0..].to_owned();
        let rows = &rows[..rows.len().saturating_sub(1)];
        rows.iter().map(name).map(|row| row.split("  ").next().unwrap().to_owned()).collect()
    }
}

fn files(paths: &[&str]) -> Batch {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    Batch { paths, first: true, last: true, truncated: false }
}

#[test]
fn commands_have_descriptions_hints_and_a_count() {
    let mut field = Field::new();
    field.type_text("/");
    assert_eq!(
        field.rows(),
        [
            "› /clear            Begin a new conversation",
            "  /compact [focus]  Summarise the conversation",
            "  /context          What fills the window",
            "  /memory           Show what is remembered",
            "  /model [name]     Choose the model",
            "  1/5",
        ]
    );
}

#[test]
fn names_match_before_descriptions() {
    let mut field = Field::new();
    field.type_text("/con");
    assert_eq!(field.names(), ["/context", "/clear", "/compact [focus]"]);
    let mut field = Field::new();
    field.type_text("/mdl");
    assert_eq!(field.names(), ["/model [name]"]);
    let mut field = Field::new();
    field.type_text("/xyz");
    assert!(!field.popup.is_open());
}

#[test]
fn enter_sends_a_complete_command_and_opens_one_that_takes_more() {
    let mut field = Field::new();
    field.type_text("/cle");
    assert_eq!(field.press(KeyCode::Enter), PopupOutcome::Submit);
    assert_eq!(field.composer.text(), "/clear");
    let mut field = Field::new();
    field.type_text("/mem");
    assert_eq!(field.press(KeyCode::Enter), PopupOutcome::Taken);
    assert_eq!(field.composer.text(), "/memory ");
    assert_eq!(field.names(), ["list", "edit <name>"]);
    field.press(KeyCode::Down);
    assert_eq!(field.press(KeyCode::Tab), PopupOutcome::Taken);
    assert_eq!(field.composer.text(), "/memory edit ");
    assert!(!field.popup.is_open());
    assert_eq!(field.press(KeyCode::Enter), PopupOutcome::Ignored);
    // A command that is typed in full is sent, although it could take an argument.
    let mut field = Field::new();
    field.type_text("/model");
    assert_eq!(field.press(KeyCode::Enter), PopupOutcome::Submit);
    assert_eq!(field.composer.text().trim_end(), "/model");
}

#[test]
fn escape_closes_until_something_else_is_typed() {
    let mut field = Field::new();
    field.type_text("/c");
    assert_eq!(field.press(KeyCode::Esc), PopupOutcome::Taken);
    assert!(!field.popup.is_open());
    field.type_text("o");
    assert!(!field.popup.is_open());
    field.composer.clear();
    field.popup.update(&field.composer);
    field.type_text("/c");
    assert!(field.popup.is_open());
}

#[test]
fn slashes_and_signs_inside_of_words_open_nothing() {
    for text in ["a/b", "me@example", "/usr/bin", "see /clear", "", "@a b"] {
        let mut field = Field::new();
        field.popup.add_files(files(&["a", "example"]));
        field.type_text(text);
        assert!(!field.popup.is_open(), "{text}");
    }
}

#[test]
fn files_are_found_by_letters_and_quoted_if_needed() {
    let mut field = Field::new();
    assert!(!field.popup.wants_files());
    field.type_text("look at @");
    assert!(field.popup.wants_files());
    assert!(!field.popup.wants_files());
    field.popup.add_files(files(&[
        "src/",
        "src/app.py",
        "src/deep/application.py",
        "a b.txt",
        "zz",
    ]));
    assert_eq!(field.rows().last().unwrap(), "  1/5");
    field.type_text("app");
    assert_eq!(field.names(), ["src/app.py", "src/deep/application.py"]);
    field.press(KeyCode::Enter);
    assert_eq!(field.composer.text(), "look at @src/app.py ");
    assert!(!field.popup.is_open());
    field.type_text("and @\"a b");
    assert_eq!(field.names(), ["a b.txt"]);
    field.press(KeyCode::Tab);
    assert_eq!(field.composer.text(), "look at @src/app.py and @\"a b.txt\" ");
    assert_eq!(mention("a.txt"), "@a.txt");
}

#[test]
fn a_folder_can_be_opened_further() {
    let mut field = Field::new();
    field.popup.add_files(files(&["src/", "src/app.py", "other"]));
    field.type_text("@src");
    field.press(KeyCode::Tab);
    assert_eq!(field.composer.text(), "@src/");
    assert_eq!(field.names(), ["src/", "src/app.py"]);
}

#[test]
fn the_list_has_eight_rows_and_scrolls() {
    let paths: Vec<String> = (0..25).map(|at| format!("file{at:02}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut field = Field::new();
    field.popup.add_files(files(&paths));
    field.type_text("@");
    assert_eq!(field.rows().len(), 9);
    assert_eq!(field.rows()[8], "  1/25");
    for _ in 0..10 {
        field.press(KeyCode::Down);
    }
    assert_eq!(field.rows()[8], "  11/25");
    assert_eq!(field.names()[7], "file10");
    field.press(KeyCode::Up);
    field.press(KeyCode::PageUp);
    assert_eq!(field.rows()[8], "  2/25");
    field.press(KeyCode::Up);
    field.press(KeyCode::Up);
    assert_eq!(field.rows()[8], "  25/25");
    let narrow: Vec<Line> = field.popup.view(12, 4);
    assert_eq!(narrow.len(), 4);
    assert!(narrow.iter().all(|line| line.width() <= 12));
}

#[test]
fn a_new_listing_replaces_the_old_one_when_it_is_complete() {
    let mut field = Field::new();
    field.popup.add_files(files(&["old"]));
    field.type_text("@");
    field.popup.add_files(Batch { last: false, ..files(&["new1"]) });
    assert_eq!(field.names(), ["old"]);
    field.popup.add_files(Batch { first: false, truncated: true, ..files(&["new2"]) });
    assert_eq!(field.names(), ["new1", "new2"]);
    assert_eq!(field.rows()[2], "  1/2 (not all files)");
}

#[test]
fn a_walk_honours_ignore_files_and_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [".git/config", "src/main.rs", "target/out.o", ".github/ci.yml", "a b.txt"] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::fs::write(root.join(".gitignore"), "target/\n").unwrap();
    let list = |limits| {
        let (sender, receiver) = mpsc::channel();
        let send = move |batch| sender.send(batch).is_ok();
        let walk = Walk::start(root.to_path_buf(), limits, send).unwrap();
        let batches: Vec<Batch> = receiver.iter().collect();
        drop(walk);
        batches
    };
    let batches = list(Limits::default());
    assert!(batches[0].first && batches.last().unwrap().last && !batches[0].truncated);
    let mut paths = batches[0].paths.clone();
    paths.sort();
    assert_eq!(
        paths,
        [".github/", ".github/ci.yml", ".gitignore", "a b.txt", "src/", "src/main.rs"]
    );
    let batches = list(Limits { files: 2, ..Limits::default() });
    assert_eq!(batches[0].paths.len(), 2);
    assert!(batches[0].truncated);
}

#[test]
fn a_walk_leaves_out_what_the_program_stores() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [
        ".robota/sessions/id/1.seg",
        ".robota/worktrees/agent/main.rs",
        ".robota/worktrees/agent/.robota/logs/log",
        ".robota/checkpoints/a",
        ".robota/logs/a",
        ".robota/reaper/a",
        ".robota/agents/own.md",
        "part/.robota/sessions/id/1.seg",
        "sessions/notes.txt",
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let mut files = matching_files(root, "");
    files.sort();
    let shown = [".robota/", ".robota/agents/", ".robota/agents/own.md"];
    let shown = [&shown[..], &["part/", "part/.robota/", "sessions/", "sessions/notes.txt"]];
    assert_eq!(files, shown.concat());
    let worktree = matching_files(&root.join(".robota/worktrees/agent"), "");
    assert!(worktree.contains(&"main.rs".to_owned()), "{worktree:?}");
    assert!(!worktree.iter().any(|path| path.contains("logs")), "{worktree:?}");
}
