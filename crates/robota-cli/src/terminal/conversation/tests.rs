use super::*;

fn row(call: &str) -> Entry {
    let details = ToolState::new(CallId::from(call), "Read", "a.txt");
    Entry::Tool(Box::new(ToolRow::new(details, RowState::Running, Duration::ZERO)))
}

fn end(conversation: &mut Conversation, call: &str) {
    let call = CallId::from(call);
    let mut details = ToolState::new(call.clone(), "Read", "a.txt");
    details.end = Some(ToolEnd::Success);
    conversation.row(&call).unwrap().end(details, Duration::from_secs(1));
}

#[test]
fn entries_are_committed_in_order_once_they_are_finished() {
    let mut conversation = Conversation::default();
    conversation.push(Entry::Prompt("hello".to_owned()));
    conversation.push(row("a"));
    conversation.push(row("b"));
    assert_eq!(conversation.commit().len(), 1);
    end(&mut conversation, "b");
    assert!(conversation.commit().is_empty(), "the call before it still runs");
    end(&mut conversation, "a");
    assert_eq!(conversation.commit().len(), 2);
    assert!(conversation.commit().is_empty(), "nothing is written twice");
    conversation.uncommit();
    assert_eq!(conversation.commit().len(), 3);
}

#[test]
fn a_tool_call_ends_the_text_before_it() {
    let mut conversation = Conversation::default();
    conversation.text("First.\n\nSecond");
    assert!(conversation.is_writing());
    assert_eq!(conversation.commit().len(), 1, "the first paragraph is finished");
    conversation.push(row("a"));
    assert!(!conversation.is_writing());
    assert_eq!(conversation.commit().len(), 1, "so is the second now");
}

#[test]
fn text_that_is_void_is_dropped_if_it_is_not_finished() {
    let mut conversation = Conversation::default();
    conversation.push(Entry::Prompt("hello".to_owned()));
    conversation.text("Half");
    assert!(!conversation.drop_open_text());
    assert!(!conversation.is_writing());
}
