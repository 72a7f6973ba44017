//! What the result of a command says to programs: whether it failed, and what it printed.

use robota_core::tool::failed_exit_code;
use serde_json::{Map, Value};

use super::{Bash, NO_OUTPUT};

impl Bash {
    /// Returns the exit code of a command that failed, by the metadata of its result. Code 1 of a
    /// program that searches or compares is an answer and no failure.
    ///
    /// ```
    /// use robota_tools::Bash;
    /// use serde_json::json;
    ///
    /// let metadata = json!({"exit_code": 1});
    /// let metadata = metadata.as_object().unwrap();
    /// assert_eq!(Bash::failed_code("make", metadata), Some(1));
    /// assert_eq!(Bash::failed_code("cat x | grep 'a|b'", metadata), None);
    /// ```
    #[must_use]
    pub fn failed_code(command: &str, metadata: &Map<String, Value>) -> Option<i64> {
        failed_exit_code(command, metadata)
    }

    /// Returns what a command printed: the text of its result without the notes for the model. Of a
    /// long output, the beginning and the end.
    ///
    /// ```
    /// use robota_tools::Bash;
    /// use serde_json::json;
    ///
    /// let metadata = json!({"exit_code": 1, "output_bytes": 0, "truncated": false});
    /// let text = "[no output]\n[exit code 1]\n";
    /// assert_eq!(Bash::printed(text, metadata.as_object().unwrap()), "");
    /// ```
    #[must_use]
    pub fn printed<'a>(text: &'a str, metadata: &Map<String, Value>) -> &'a str {
        let bytes = metadata.get("output_bytes").and_then(Value::as_u64);
        let whole = metadata.get("truncated").and_then(Value::as_bool) == Some(false)
            // A byte that is not UTF-8 became a longer character.
            && !text.contains(char::REPLACEMENT_CHARACTER);
        let output = bytes.filter(|_| whole).and_then(|bytes| usize::try_from(bytes).ok());
        if let Some(output) = output.and_then(|bytes| text.get(..bytes)) {
            return output;
        }
        // The output was cut, or an editor ran the command: its length in the text is not known.
        let code = metadata.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
        let end = code.map(|code| format!("[exit code {code}]\n"));
        let text = end.and_then(|end| text.strip_suffix(end.as_str())).unwrap_or(text);
        if text == NO_OUTPUT { "" } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_no_output() {
        let metadata = |bytes: u64, truncated: bool| {
            let all =
                serde_json::json!({"exit_code": 3, "output_bytes": bytes, "truncated": truncated});
            all.as_object().cloned().unwrap()
        };
        for (text, bytes, truncated, printed) in [
            ("[no output]\n", 0, false, ""),
            ("a\n[working directory: /x]\n[exit code 3]\n", 2, false, "a\n"),
            ("[exit code 3]\n[exit code 3]\n", 14, false, "[exit code 3]\n"),
            (
                "a\n[... 9 of 13 bytes cut ...]\nb\n[exit code 3]\n",
                13,
                true,
                "a\n[... 9 of 13 bytes cut ...]\nb\n",
            ),
            ("[no output]\n[exit code 3]\n", 0, true, ""),
            ("\u{fffd}\u{fffd}\n[exit code 3]\n", 3, false, "\u{fffd}\u{fffd}\n"),
        ] {
            assert_eq!(Bash::printed(text, &metadata(bytes, truncated)), printed, "{text}");
        }
    }
}
