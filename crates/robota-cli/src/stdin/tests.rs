use super::*;

#[test]
fn cli_03_piped_input_is_appended_to_the_prompt() {
    assert_eq!(join(Some("explain"), "a\nb\n"), Some("explain\n\na\nb".to_owned()));
    assert_eq!(join(Some("explain"), "\n"), Some("explain".to_owned()));
    assert_eq!(join(None, "do it\n"), Some("do it".to_owned()));
    assert_eq!(join(Some("  "), "\n"), None);
}

#[test]
fn cli_03_a_silent_input_is_not_waited_for() {
    let (send, receive) = mpsc::sync_channel::<Chunk>(4);
    let timeouts = Some((Duration::ZERO, Duration::ZERO));
    // No input has arrived, and the writer is still open.
    assert_eq!(collect(&receive, timeouts).unwrap(), b"");
    send.send(Ok(b"late".to_vec())).unwrap();
    drop(send);
    assert_eq!(collect(&receive, timeouts).unwrap(), b"late");
}

#[test]
fn too_much_input_is_an_error_that_says_what_to_do() {
    let (send, receive) = mpsc::sync_channel::<Chunk>(4);
    send.send(Ok(vec![0; MAX_BYTES + 1])).unwrap();
    let error = collect(&receive, None).unwrap_err().to_string();
    assert!(error.contains("10 MiB") && error.contains("file"), "{error}");
}
