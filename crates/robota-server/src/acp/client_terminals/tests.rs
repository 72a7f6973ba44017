use super::*;

fn touch() -> TerminalCommand {
    TerminalCommand {
        program: "touch".to_owned(),
        args: vec!["made".to_owned()],
        cwd: "/".into(),
        output_limit: 100,
        timeout: Duration::from_secs(600),
    }
}

/// Runs a command with an editor that answers only when nobody waits for it any more.
async fn unanswered(cancel: &CancellationToken) -> Option<TerminalEnd> {
    let (out, mut lines) = tokio::sync::mpsc::channel(8);
    let command = touch();
    let (connection, shown) = (Arc::new(Connection::new(out)), ShownTerminals::default());
    let ran = run(&connection, "session", &shown, &CallId::from("call"), command, cancel).await;
    let create: Value = serde_json::from_str(&lines.recv().await.unwrap()).unwrap();
    assert_eq!(create["method"], "terminal/create");
    assert!(lines.recv().await.unwrap().contains("$/cancel_request"));
    let id = serde_json::from_value(create["id"].clone()).unwrap();
    connection.on_response(&id, Ok(serde_json::json!({"terminalId": "late"})));
    let release: Value = serde_json::from_str(&lines.recv().await.unwrap()).unwrap();
    assert_eq!(release["method"], "terminal/release");
    assert_eq!(release["params"]["terminalId"], "late");
    ran.map(|result| result.end)
}

#[tokio::test(start_paused = true)]
async fn a_command_that_the_editor_may_have_started_is_not_run_elsewhere() {
    let cancel = CancellationToken::new();
    assert_eq!(unanswered(&cancel).await, Some(TerminalEnd::Unknown));
    cancel.cancel();
    assert_eq!(unanswered(&cancel).await, Some(TerminalEnd::Interrupted));
}

/// Runs a command, and drops its future when the editor has created the terminal: before the future has
/// read the answer, or after.
async fn dropped(reads_answer: bool) {
    let (out, mut lines) = tokio::sync::mpsc::channel(8);
    let (connection, shown) = (Arc::new(Connection::new(out)), ShownTerminals::default());
    let (call, cancel) = (CallId::from("call"), CancellationToken::new());
    let mut running = Box::pin(run(&connection, "session", &shown, &call, touch(), &cancel));
    let create = tokio::select! {
        _ = &mut running => panic!("the command has not ended"),
        line = lines.recv() => line.unwrap(),
    };
    let create: Value = serde_json::from_str(&create).unwrap();
    let id = serde_json::from_value(create["id"].clone()).unwrap();
    connection.on_response(&id, Ok(serde_json::json!({"terminalId": "answered"})));
    for _ in 0..8 {
        if reads_answer {
            assert!(futures::poll!(&mut running).is_pending());
        }
        tokio::task::yield_now().await;
    }
    drop(running);
    let released = async {
        while let Some(line) = lines.recv().await {
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["method"] == "terminal/release" {
                return line["params"]["terminalId"] == "answered";
            }
        }
        false
    };
    let released = tokio::time::timeout(Duration::from_secs(600), released).await;
    assert_eq!(released, Ok(true), "reads the answer: {reads_answer}");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_of_a_caller_that_is_gone_is_released() {
    dropped(false).await;
    dropped(true).await;
}
