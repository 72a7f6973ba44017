//! Fuzzes the scripts of the scripted provider.

use robota_core::error::Diagnose as _;
use robota_core::scripted::Script;

/// Reads any text as a script. It either has answers with steps, or the error has a message, a hint
/// and a valid line number.
pub fn scripts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Script::from_yaml(text) {
        Ok(script) => {
            assert!(!script.answers().is_empty(), "a script has answers");
            for answer in script.answers() {
                assert!(!answer.steps.is_empty(), "an answer has steps");
            }
            assert_eq!(Script::from_yaml(text).as_ref(), Ok(&script), "parsing is deterministic");
        }
        Err(error) => {
            assert!(!error.message().is_empty(), "an error has a message");
            assert!(error.hint().is_some(), "an error has a hint");
            // YAML has several line ends; each takes at least one byte.
            let lines = data.len() as u64 + 1;
            let line = error.line().unwrap_or(1);
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
    }
}
