//! Scripts of the scripted provider.

use robota_core::error::Diagnose as _;
use robota_core::scripted::Script;

/// Any text as a script: it is one, with answers that say something, or it is told where it is
/// wrong and what to do.
pub fn scripts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Script::from_yaml(text) {
        Ok(script) => {
            assert!(!script.answers().is_empty(), "a script has answers");
            for answer in script.answers() {
                assert!(!answer.steps.is_empty(), "an answer says something");
            }
            assert_eq!(Script::from_yaml(text).as_ref(), Ok(&script), "it says the same again");
        }
        Err(error) => {
            assert!(!error.message().is_empty(), "a mistake has words");
            assert!(error.hint().is_some(), "and advice");
            // YAML ends lines in more ways than one; none takes less than a byte.
            let lines = data.len() as u64 + 1;
            let line = error.line().unwrap_or(1);
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
    }
}
