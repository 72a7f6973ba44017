use super::*;

/// Runs a command with an editor that answers only when nobody waits for it any more.
async fn unanswered(cancel: &CancellationToken) -> Option<TerminalEnd> {
    let (out, mut lines) = tokio::sync::mpsc::channel(8);
    let command = TerminalCommand {
        program: "touch".to_owned(),
        args: vec!["made".to_owned()],
        cwd: "/".into(),
        output_limit: 100,
        timeout: Duration::from_secs(600),
    };
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
