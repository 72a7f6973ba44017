use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

#[tokio::test]
async fn the_list_is_validated_replaced_and_shown() {
    let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
    let tool = TodoWrite::new(&workspace);
    let run = async |input: Value| {
        tool.check(&input).unwrap();
        tool.run(input, ToolContext::detached()).await
    };
    let item = |content: &str, status: &str| json!({"content": content, "status": status});
    let todos = json!([item("a", "completed"), item("b", "in_progress"), item("c", "pending")]);
    let outcome = run(json!({"todos": todos.clone()})).await;
    assert_eq!(outcome.text(), "[x] a\n[>] b\n[ ] c\n");
    assert_eq!(outcome.metadata["todos"], todos);
    let mut old = item("a", "pending");
    old["id"] = json!("1");
    old["priority"] = json!("high");
    old["activeForm"] = json!("Doing a");
    let outcome = run(json!({"todos": [old]})).await;
    let kept = json!([{"content": "a", "status": "pending", "activeForm": "Doing a"}]);
    assert_eq!(outcome.metadata["todos"], kept, "fields of older models are left out");
    run(json!({"todos": todos})).await;
    let two = json!([item("a", "in_progress"), item("b", "in_progress")]);
    assert_eq!(run(json!({"todos": two})).await.error_code.as_deref(), Some("invalid_input"));
    assert_eq!(workspace.todos().list().len(), 3, "an invalid list changes nothing");
    assert_eq!(run(json!({"todos": []})).await.text(), "[the list is empty]\n");
    let error = tool.check(&json!({"todos": [item("a", "done")]})).unwrap_err().to_string();
    assert!(error.contains("\"in_progress\""), "{error}");
}

#[test]
fn items_keep_their_number_as_long_as_their_text_is_in_the_list() {
    let todo = |content: &&str| Todo {
        content: (*content).to_owned(),
        status: TodoStatus::Pending,
        active_form: None,
    };
    let numbers = |list: &NumberedTodos| -> Vec<u64> {
        list.items.iter().map(|(number, _)| *number).collect()
    };
    let mut list = NumberedTodos::default();
    for (texts, expected) in [
        (&["a", "b", "a"][..], &[1, 2, 3][..]),
        (&["b", "a", "a"], &[2, 1, 3]),
        (&["a"], &[1]),
        // The number of an item that was removed is not used again.
        (&["c", "a", "b"], &[4, 1, 5]),
    ] {
        list = list.change(texts.iter().map(todo).collect()).list;
        assert_eq!(numbers(&list), expected, "{texts:?}");
    }
}
