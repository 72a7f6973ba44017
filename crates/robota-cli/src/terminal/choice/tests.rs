use robota_tools::AnswerOption;

use super::*;
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::testing::Harness;

fn asked(several: bool, options: &[&str]) -> Event {
    let options = options.iter().map(|label| AnswerOption::Described {
        label: (*label).to_owned(),
        description: format!("about {label}"),
    });
    let question = UserQuestion {
        question: "Which colour?".to_owned(),
        header: Some("Colour".to_owned()),
        options: Some(options.collect()),
        multi_select: Some(several),
    };
    Event::UserAsked { id: 7, question: Box::new(question) }
}

fn answer(effects: &[Effect]) -> Option<Option<&str>> {
    effects.iter().find_map(|effect| match effect {
        Effect::AnswerUser { id: 7, answer } => Some(answer.as_deref()),
        _ => None,
    })
}

fn program(event: Event) -> Harness {
    let mut program = Harness::open(80, 24);
    program.prompt("paint it");
    program.send(event);
    program.wait(400);
    program
}

#[test]
fn an_answer_is_chosen_by_arrows_or_by_its_number() {
    let mut by_arrows = program(asked(false, &["red", "blue"]));
    let shown = by_arrows.shown();
    assert!(shown.contains("? Colour: Which colour?"), "{shown}");
    assert!(shown.contains("1. red  about red") && shown.contains("3. something else"), "{shown}");
    assert!(shown.contains("waiting for you"), "{shown}");
    by_arrows.press("down");
    assert_eq!(answer(&by_arrows.press("enter")), Some(Some("blue")));
    assert!(by_arrows.shown().contains("Which colour? blue"), "{}", by_arrows.shown());
    let mut by_number = program(asked(false, &["red", "blue"]));
    assert_eq!(answer(&by_number.press("1")), Some(Some("red")));
}

#[test]
fn several_answers_are_marked() {
    let mut program = program(asked(true, &["red", "blue", "green"]));
    program.press("1");
    program.press("3");
    assert!(program.shown().contains("[x] red") && program.shown().contains("[ ] blue"));
    assert_eq!(answer(&program.press("enter")), Some(Some("red, green")));
}

#[test]
fn another_answer_is_typed_and_esc_gives_none() {
    let mut typing = program(asked(false, &["red"]));
    assert!(typing.press("2").is_empty());
    typing.type_text("no colour");
    assert!(typing.shown().contains("answer: no colour"), "{}", typing.shown());
    assert_eq!(answer(&typing.press("enter")), Some(Some("no colour")));
    let mut declining = program(asked(false, &["red"]));
    assert_eq!(answer(&declining.press("esc")), Some(None));
}

#[test]
fn type_ahead_chooses_nothing_and_a_question_that_ended_disappears() {
    let mut program = Harness::open(80, 24);
    program.prompt("paint it");
    program.send(asked(false, &["red"]));
    assert!(program.press("1").is_empty());
    assert_eq!(program.state.composer.text(), "1");
    program.send(Event::UserQuestionEnded(7));
    assert!(!program.shown().contains("Which colour?"), "{}", program.shown());
}
