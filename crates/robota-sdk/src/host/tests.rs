use super::*;

#[test]
fn servers_of_clients_are_written_as_configurations() {
    let map = |name: &str| BTreeMap::from([(name.to_owned(), "x".to_owned())]);
    let (command, args) = ("files".to_owned(), vec!["-a".to_owned()]);
    let stdio = McpConnection::Stdio { command, args, env: map("KEY") };
    let http = McpConnection::Http { url: "https://a.example".to_owned(), headers: map("H") };
    let server = |name: &str, connection| ClientMcpServer { name: name.to_owned(), connection };
    let text = mcp_config(&[server("one", stdio), server("two", http)]);
    let value: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({"mcpServers": {
        "one": {"type": "stdio", "command": "files", "args": ["-a"], "env": {"KEY": "x"}},
        "two": {"type": "http", "url": "https://a.example", "headers": {"H": "x"}},
    }});
    assert_eq!(value, expected);
}

#[test]
fn a_missing_session_is_a_distinct_error() {
    let error = HostError::from(SdkError::SessionNotFound("x".to_owned()));
    assert_eq!(error.kind, HostErrorKind::NotFound);
    let error = HostError::from(SdkError::QueueFull { limit: 1 });
    assert_eq!(error.kind, HostErrorKind::Invalid);
}
