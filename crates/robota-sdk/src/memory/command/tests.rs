use super::*;

fn parse(text: &str) -> Result<MemoryCommand, String> {
    MemoryCommand::parse(text).map_err(|error| error.to_string())
}

#[test]
fn sdk_18_commands_are_parsed() {
    assert_eq!(parse(""), Ok(MemoryCommand::List));
    assert_eq!(parse(" list "), Ok(MemoryCommand::List));
    assert_eq!(parse("show"), Ok(MemoryCommand::Show(None)));
    assert_eq!(parse("show build"), Ok(MemoryCommand::Show(Some("build".to_owned()))));
    let (topic, text) = ("build".to_owned(), "Run  the tests".to_owned());
    let add = MemoryCommand::Add { kind: MemoryKind::Feedback, topic, text };
    assert_eq!(parse("add feedback build Run  the tests"), Ok(add));
    assert_eq!(parse("pending"), Ok(MemoryCommand::Pending));
    assert_eq!(parse("approve mem_1"), Ok(MemoryCommand::Approve("mem_1".to_owned())));
    assert_eq!(parse("reject mem_1"), Ok(MemoryCommand::Reject("mem_1".to_owned())));
    assert_eq!(parse("used"), Ok(MemoryCommand::Used));
    for text in
        ["forget", "list all", "show a b", "add", "add user x", "approve", "approve a b", "used x"]
    {
        assert!(parse(text).unwrap_err().starts_with("usage: memory list"), "{text}");
    }
    assert!(parse("add note x y").unwrap_err().contains("use one of user, feedback"));
}

#[test]
fn sdk_18_commands_answer_with_text_data_and_events() {
    let dir = tempfile::tempdir().unwrap();
    let memory = ProjectMemory::open(dir.path()).unwrap();
    let mut events = Vec::new();
    let mut run = |text: &str| {
        let reply = memory.run(&MemoryCommand::parse(text).unwrap(), &events)?;
        events.extend(reply.event.clone());
        Ok::<_, MemoryError>(reply)
    };
    assert_eq!(run("list").unwrap().message, "The memory is empty.");
    assert_eq!(run("pending").unwrap().message, "No candidate waits.");
    let added = run("add project build Use just.").unwrap();
    assert_eq!(added.data, json!({"topic": "build", "deduplicated": false}));
    assert_eq!(run("add project build use just").unwrap().data["deduplicated"], true);
    assert_eq!(run("list").unwrap().message, "Topics: build");
    assert!(run("show").unwrap().message.starts_with("- [build](topics/build.md)"));
    assert_eq!(run("used").unwrap().message, "This session has recalled nothing.");
    assert!(run("show build").unwrap().message.contains("- (project) Use just."));
    assert_eq!(run("used").unwrap().message, "Recalled: build");
    assert!(matches!(run("add user x password: hunter2"), Err(MemoryError::Refused(_))));
    assert_eq!(events.len(), 3);
    memory.propose(&MemoryEntry::new(MemoryKind::User, "me", "I like tea.").unwrap()).unwrap();
    let id = memory.pending().unwrap()[0].id.clone();
    events.push(memory.recall("just build it").1);
    let run = |text: &str| memory.run(&MemoryCommand::parse(text).unwrap(), &events).unwrap();
    assert_eq!(run("used").data, json!({"topics": ["build"]}));
    assert_eq!(run("pending").message, format!("{id} (user) me: I like tea."));
    assert_eq!(run(&format!("approve {id}")).data, json!({"id": id, "deduplicated": false}));
}
