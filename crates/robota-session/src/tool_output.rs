//! Tool output that is too long for the model: the model gets its beginning and end, the whole is
//! stored in blobs, and [`ReadOutput`] lets the model read the rest.
//!
//! One limit applies to every tool. A tool that streams stores what it leaves out itself, through
//! its context; the output of other tools is cut here.

mod parts;
mod read;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use robota_core::blob::Blobs;
use robota_core::guard::drop_guarded;
use robota_core::ids::CallId;
use robota_core::message::ResultBlock;
use robota_core::redact::Redactor;
use robota_core::tool::{
    AwaitedTools, InvalidInput, OutputStore, OutputWriter, Progress, Tool, ToolContext,
    ToolOutcome, ToolSpec,
};
use serde_json::Value;

use parts::PartsWriter;
pub(crate) use read::ReadOutput;

/// At most this many bytes of one call are stored.
const MAX_KEPT: usize = 64 * 1024 * 1024;
/// A tool may exceed the limit by this many bytes, for its notes about the output.
const NOTE_ALLOWANCE: usize = 2_048;
/// At most this many bytes of one call are shown while it runs, because they are journaled.
const MAX_PROGRESS: usize = 1024 * 1024;

/// How much of a call's output the model gets by default, in bytes.
pub(crate) const DEFAULT_LIMIT: usize = 30_000;

/// A tool as a session runs it: its output is cut to a limit, and the whole is stored in the
/// session's blobs.
pub(crate) struct SessionTool {
    pub(crate) inner: Arc<dyn Tool>,
    pub(crate) blobs: Arc<dyn Blobs>,
    /// The limit in bytes; none does not cut.
    pub(crate) limit: Option<usize>,
    /// Removes secrets from output before it is stored.
    pub(crate) redactor: Redactor,
}

#[async_trait::async_trait]
impl Tool for SessionTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.inner.check(input)
    }

    fn check_changed(&self, input: &Value) -> Result<(), InvalidInput> {
        self.inner.check_changed(input)
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.inner.gate_input(call, input)
    }

    fn judged_spec(&self, input: &Value) -> &ToolSpec {
        self.inner.judged_spec(input)
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.inner.aliases()
    }

    fn always_asks(&self) -> bool {
        self.inner.always_asks()
    }

    fn output_limit(&self) -> Option<usize> {
        self.inner.output_limit()
    }

    fn timeout(&self) -> Option<Duration> {
        self.inner.timeout()
    }

    fn offered(&self) -> bool {
        self.inner.offered()
    }

    fn awaited(&self) -> Vec<AwaitedTools> {
        self.inner.awaited()
    }

    async fn run(&self, input: Value, mut context: ToolContext) -> ToolOutcome {
        // Also without a limit for the model: a command that prints without end would fill the
        // journal.
        context.progress = limit_progress(context.progress);
        // The outcome counts although a destructor of the tool panics.
        let run = |context| drop_guarded("a tool", self.inner.run(input, context));
        let Some(limit) = self.limit else { return run(context).await };
        let limit = self.inner.output_limit().unwrap_or(limit);
        let output =
            Arc::new(CallOutput { blobs: self.blobs.clone(), limit, used: AtomicBool::new(false) });
        context.output = Some(output.clone());
        let outcome = run(context).await;
        let length: usize = outcome.content.iter().map(text_len).sum();
        // A tool that stored its output has cut it too, unless it exceeds the limit by far.
        // Pairs with the store in `keep`, which the tool may call in another thread.
        let used = output.used.load(Ordering::Acquire);
        let most = if used { 2 * limit } else { limit }.saturating_add(NOTE_ALLOWANCE);
        if length <= most {
            return outcome;
        }
        let mut outcome = outcome;
        // The driver redacts what the model gets; what is stored here does not pass through it.
        self.redactor.outcome(&mut outcome);
        truncate_output(outcome, &*output, limit).await
    }
}

/// Passes progress on up to a limit, then says once that there is more.
fn limit_progress(progress: Progress) -> Progress {
    let shown = AtomicUsize::new(0);
    Progress::new(move |text: String| {
        // Two threads may both print here; the limit needs no order between them.
        let before = shown.fetch_add(text.len(), Ordering::Relaxed);
        if before >= MAX_PROGRESS {
            return;
        }
        let end = floor(&text, MAX_PROGRESS - before);
        progress.show(&text[..end]);
        if before + text.len() > MAX_PROGRESS {
            progress.show("\n[... more output is not shown while the call runs ...]\n");
        }
    })
}

/// Stores the output of one call.
struct CallOutput {
    blobs: Arc<dyn Blobs>,
    limit: usize,
    used: AtomicBool,
}

impl OutputStore for CallOutput {
    fn limit(&self) -> usize {
        self.limit
    }

    fn keep(&self) -> Box<dyn OutputWriter> {
        self.used.store(true, Ordering::Release);
        Box::new(PartsWriter::new(self.blobs.clone()))
    }
}

fn text_len(block: &ResultBlock) -> usize {
    match block {
        ResultBlock::Text(text) => text.text.len(),
        _ => 0,
    }
}

async fn truncate_output(
    outcome: ToolOutcome,
    store: &dyn OutputStore,
    limit: usize,
) -> ToolOutcome {
    let whole = outcome.text();
    let head = floor(&whole, limit / 2);
    let tail = ceil(&whole, whole.len() - limit / 2);
    let mut writer = store.keep();
    let kept = match writer.write(&whole.as_bytes()[..floor(&whole, MAX_KEPT)]).await {
        Ok(()) => writer.finish().await,
        Err(error) => Err(error),
    };
    let lost = (tail - head) as u64;
    let note = match &kept {
        Ok(kept) => kept.note(lost, whole.len() as u64, head as u64),
        Err(error) => {
            format!(
                "[... {lost} bytes are left out and could not be stored: {} ...]",
                error.message
            )
        }
    };
    let text = format!("{}\n{note}\n{}", &whole[..head], &whole[tail..]);
    let mut content = vec![ResultBlock::text(text)];
    let rest = outcome.content.into_iter();
    // Images stay: they have a limit of their own and cannot be cut.
    content.extend(rest.filter(|block| !matches!(block, ResultBlock::Text(_))));
    let mut outcome = ToolOutcome { content, ..outcome };
    if let Ok(kept) = kept {
        outcome = outcome.with_metadata("spilled", kept.place);
    }
    outcome
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the first character boundary at or after `at`.
fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
