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

/// Any error of the workspace answers whose problem it is, with which code, and whether a retry may help.
#[test]
fn core_28_every_error_says_its_code_its_category_and_whether_a_retry_may_help() {
    use crate::journal::JournalError;
    use crate::provider::ProviderError;

    let lost = JournalError::NotFound("s".into());
    let limited = ProviderError::new(ErrorKind::RateLimit, "slow down");
    let refused = ProviderError::new(ErrorKind::Authentication, "bad key");
    let other = ErrorData::wrap(ErrorKind::Network, &std::io::Error::other("reset"));
    let errors: [&dyn Diagnose; 4] = [&lost, &limited, &refused, &other];
    let table = errors.map(|error| (error.kind().code(), error.category(), error.retryable()));
    assert_eq!(
        table,
        [
            ("VALIDATION_ERROR", Category::User, false),
            ("RATE_LIMIT_ERROR", Category::Provider, true),
            ("AUTHENTICATION_ERROR", Category::User, false),
            ("NETWORK_ERROR", Category::System, true),
        ]
    );
}
