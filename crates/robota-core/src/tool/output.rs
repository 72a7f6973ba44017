//! Output that is too long to be told: its beginning and its end are, and the whole is kept where
//! the model can read it.

use serde_json::Value;

use crate::error::ErrorData;

/// The tool that reads what is kept.
pub const READ_OUTPUT: &str = "ReadOutput";

/// Keeps output that is too long to be told.
pub trait OutputStore: Send + Sync {
    /// How much of a call's output is told, in bytes: half from its beginning, half from its end.
    /// What a tool says *about* its output comes on top.
    fn limit(&self) -> usize;

    /// Begins to keep the output of one call. Whatever is handed over has no secrets any more.
    fn keep(&self) -> Box<dyn OutputWriter>;
}

/// Keeps the output of one call as it comes.
#[async_trait::async_trait]
pub trait OutputWriter: Send {
    /// The next part of it.
    ///
    /// # Errors
    /// When it cannot be kept. Then nothing of it is.
    async fn write(&mut self, text: &[u8]) -> Result<(), ErrorData>;

    /// That was all.
    ///
    /// # Errors
    /// When it cannot be kept.
    async fn finish(self: Box<Self>) -> Result<KeptOutput, ErrorData>;
}

/// Output that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptOutput {
    /// What the model calls it.
    pub name: String,
    /// How much of it is kept, from its beginning.
    pub bytes: u64,
    /// Where it lies, for an outcome's metadata.
    pub place: Value,
}

impl KeptOutput {
    /// What stands in the place of what is left out: of `total` bytes, `left_out` that begin at
    /// `offset`.
    #[must_use]
    pub fn note(&self, left_out: u64, total: u64, offset: u64) -> String {
        let Self { name, bytes, .. } = self;
        let rest = if *bytes < total {
            format!("; only the first {bytes} bytes are kept")
        } else {
            String::new()
        };
        format!(
            "[... {left_out} of {total} bytes are left out{rest}. To read them, call {READ_OUTPUT} \
             with {{\"output\": \"{name}\", \"offset\": {offset}}} ...]"
        )
    }
}
