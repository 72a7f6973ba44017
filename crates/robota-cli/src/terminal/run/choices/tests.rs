use super::*;

fn question() -> UserQuestion {
    let options = None;
    UserQuestion { question: "Which?".to_owned(), header: None, options, multi_select: None }
}

#[tokio::test]
async fn an_answer_reaches_the_tool_that_asked() {
    let questions = UserQuestions::new(Mailbox::new().unwrap());
    let asked = question();
    let mut asking = Box::pin(questions.ask(&asked));
    assert!(futures::poll!(asking.as_mut()).is_pending());
    let events = questions.0.mailbox.drain();
    let [Event::UserAsked { id, .. }] = events.as_slices().0 else { panic!("not asked") };
    questions.answer(*id, Some("this".to_owned()));
    assert_eq!(asking.await.as_deref(), Some("this"));
}

#[tokio::test]
async fn a_stopped_call_takes_its_question_back() {
    let questions = UserQuestions::new(Mailbox::new().unwrap());
    let asked = question();
    let mut asking = Box::pin(questions.ask(&asked));
    assert!(futures::poll!(asking.as_mut()).is_pending());
    questions.0.mailbox.drain();
    drop(asking);
    let events = questions.0.mailbox.drain();
    assert!(matches!(events.as_slices().0, [Event::UserQuestionEnded(1)]));
}
