use super::*;

/// CORE-28: the table of codes, categories and recoverability is contract.
#[test]
fn core_28_error_table() {
    let table: Vec<_> = ErrorKind::ALL
        .iter()
        .map(|kind| (kind.code(), kind.category(), kind.recoverable()))
        .collect();
    use Category::{Provider, System, User};
    assert_eq!(
        table,
        [
            ("CONFIGURATION_ERROR", User, false),
            ("VALIDATION_ERROR", User, false),
            ("PROVIDER_ERROR", Provider, true),
            ("AUTHENTICATION_ERROR", User, false),
            ("RATE_LIMIT_ERROR", Provider, true),
            ("NETWORK_ERROR", System, true),
            ("TOOL_EXECUTION_ERROR", System, false),
            ("MODEL_NOT_AVAILABLE", User, false),
            ("CIRCUIT_BREAKER_OPEN", System, true),
            ("PLUGIN_ERROR", System, false),
            ("STORAGE_ERROR", System, true),
        ]
    );
}

#[test]
fn core_28_wrapping_keeps_the_chain_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the journal")]
    struct Outer(#[source] std::io::Error);

    let error = Outer(std::io::Error::other("disk on fire"));
    let data = ErrorData::wrap(ErrorKind::Storage, &error).with_hint("put it out");
    assert_eq!(data.message, "cannot open the journal: disk on fire");
    assert_eq!(data.hint(), Some("put it out".to_owned()));
    assert!(data.retryable());
    assert_eq!(data.kind().code(), "STORAGE_ERROR");
}
