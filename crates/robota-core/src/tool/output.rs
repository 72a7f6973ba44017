//! Output that is too long for the model: the result contains its beginning and its end, and the
//! complete output is stored where the model can read it.

use serde_json::Value;

use crate::error::ErrorData;

/// The name of the tool that reads stored output.
pub const READ_OUTPUT: &str = "ReadOutput";

/// Stores output that is too long for the model.
pub trait OutputStore: Send + Sync {
    /// Returns how many bytes of a call's output the result contains: half from its beginning, half
    /// from its end. What a tool adds *about* its output is not counted.
    fn limit(&self) -> usize;

    /// Starts to store the output of one call. The caller has already removed secrets from it.
    fn keep(&self) -> Box<dyn OutputWriter>;
}

/// Stores the output of one call as it arrives.
#[async_trait::async_trait]
pub trait OutputWriter: Send {
    /// Stores the next part.
    ///
    /// # Errors
    /// When it cannot be stored. Then nothing of the output is.
    async fn write(&mut self, text: &[u8]) -> Result<(), ErrorData>;

    /// Ends the output.
    ///
    /// # Errors
    /// When it cannot be stored.
    async fn finish(self: Box<Self>) -> Result<KeptOutput, ErrorData>;
}

/// Output that was stored because it is too long for a result.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptOutput {
    /// The name under which the model can read it.
    pub name: String,
    /// How many bytes are stored, from the beginning.
    pub bytes: u64,
    /// Where it is stored, for an outcome's metadata.
    pub place: Value,
}

impl KeptOutput {
    /// Returns the note that replaces the omitted part: `left_out` of `total` bytes, beginning at
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
