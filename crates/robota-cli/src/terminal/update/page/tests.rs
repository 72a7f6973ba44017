use std::sync::{Arc, Mutex};

use super::*;
use crate::terminal::event::{Opened, Size};
use crate::terminal::screen::Cursor;
use crate::terminal::testing::Harness;
use crate::terminal::text::Line;

/// A page that notes what it gets.
#[derive(Default)]
struct Noting {
    loading: bool,
    noted: Arc<Mutex<Vec<String>>>,
}

impl Noting {
    fn note(&self, text: String) {
        self.noted.lock().unwrap().push(text);
    }
}

impl Page for Noting {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if action == Some(Action::Cancel) {
            return PageOutcome::Ignored;
        }
        self.note(key.code.to_string());
        match action {
            Some(Action::Accept) => PageOutcome::Close(Vec::new()),
            _ => PageOutcome::Stay(Vec::new()),
        }
    }

    fn paste(&mut self, text: &str) {
        self.note(format!("pasted {text}"));
    }

    fn is_loading(&self) -> bool {
        self.loading
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        self.loading = false;
        match reply.downcast::<&str>() {
            Ok(text) => {
                self.note((*text).to_owned());
                PageOutcome::Stay(Vec::new())
            }
            Err(_) => PageOutcome::Fail("no reply".to_owned()),
        }
    }

    fn view(&mut self, _: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        (Vec::new(), None)
    }
}

type Noted = Arc<Mutex<Vec<String>>>;

/// Opens a page that waits for what it shows.
fn open_loading(program: &mut Harness) -> Noted {
    let page = Noting { loading: true, ..Noting::default() };
    let noted = page.noted.clone();
    open(&mut program.state, Box::new(move |_| Ok((Box::new(page), Vec::new()))));
    noted
}

fn reply(program: &mut Harness, page: u64, text: &'static str) {
    program.send(Event::Answered(Box::new(Reply { page, reply: Box::new(text) })));
}

#[test]
fn keys_and_pastes_before_the_content_are_given_to_the_page_after_it_in_order() {
    let mut program = Harness::open(80, 24);
    let noted = open_loading(&mut program);
    program.type_text("a");
    program.send(Event::Paste("b".to_owned()));
    program.press("down");
    program.press("enter");
    // The page is closed by then.
    program.type_text("later");
    assert!(noted.lock().unwrap().is_empty());
    reply(&mut program, 1, "content");
    assert_eq!(*noted.lock().unwrap(), ["content", "a", "pasted b", "Down", "Enter"]);
    assert!(program.state.page.is_none());
    assert_eq!(program.state.composer.text(), "later");
}

#[test]
fn a_key_that_could_end_something_unseen_is_not_kept() {
    let mut program = Harness::open(80, 24);
    let noted = open_loading(&mut program);
    program.press("ctrl+x");
    assert_eq!(*noted.lock().unwrap(), ["x"], "the page gets it at once");
}

#[test]
fn keys_for_a_page_that_was_closed_or_failed_are_forgotten() {
    let mut program = Harness::open(80, 24);
    program.type_text("draft");
    open_loading(&mut program);
    program.press("enter");
    program.press("esc");
    let noted = open_loading(&mut program);
    reply(&mut program, 2, "content");
    assert_eq!(*noted.lock().unwrap(), ["content"]);
    program.press("esc");

    open_loading(&mut program);
    program.press("enter");
    let effects = program.send(Event::Answered(Box::new(0_u8)));
    assert!(effects.is_empty() && program.state.page.is_none(), "{effects:?}");
    assert_eq!(program.state.composer.text(), "draft", "Enter was not for the composer");
}

#[test]
fn a_page_gets_no_reply_to_an_earlier_page() {
    let mut program = Harness::open(80, 24);
    open_loading(&mut program);
    program.press("esc");
    let noted = open_loading(&mut program);
    reply(&mut program, 1, "of the first");
    assert!(noted.lock().unwrap().is_empty());
    reply(&mut program, 2, "of the second");
    assert_eq!(*noted.lock().unwrap(), ["of the second"]);
}

#[test]
fn a_page_that_needs_a_session_is_not_left_empty_without_one() {
    let mut program = Harness::starting(80, 24);
    open_loading(&mut program);
    assert!(program.state.page.is_some(), "the session may still open");
    program.send(Event::OpenFailed { message: "no provider".to_owned(), hint: None });
    assert!(program.state.page.is_none());
    program.press("ctrl+b");
    assert!(program.state.page.is_none());
    assert!(program.shown().contains("there is no session"), "{}", program.shown());
    program.press("ctrl+t");
    assert!(program.state.page.is_some(), "the transcript is known");

    let mut program = Harness::starting(80, 24);
    let follows = Some("pid 42".to_owned());
    program.send(Event::Opened(Box::new(Opened { follows, ..Opened::default() })));
    program.press("ctrl+b");
    assert!(program.state.page.is_none());
    assert!(program.shown().contains("another process writes"), "{}", program.shown());
}
