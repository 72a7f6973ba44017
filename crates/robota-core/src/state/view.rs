//! The conversation as the model sees it, and the one before the last compaction.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{CountedUsage, ViewRefs};
use crate::ids::MessageId;
use crate::message::{Block, Message, ResultBlock, Role, ToolResult};
use crate::provider::View;
use crate::usage::Usage;

/// Keeps the conversation as the model sees it. It keeps running totals, so that no caller has to
/// iterate over the messages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelView {
    /// The messages that the next request contains, oldest first.
    pub messages: View,
    /// Their size as JSON, in bytes.
    pub bytes: u64,
    /// The number of characters of their text, for the estimate of
    /// [`conservative_tokens`](crate::context::conservative_tokens).
    pub chars: u64,
    /// The tokens that the provider counted last, and for which message.
    pub latest_usage: Option<(MessageId, Usage)>,
    /// The view that the last compaction or undoable rewind replaced; `None` if it cannot be
    /// restored.
    pub before: Option<Box<ReplacedView>>,
    /// The sequence numbers of the events, each with the index of its message.
    sources: Vec<Source>,
    /// The snapshots that list the sources, oldest first. Each continues the list of the one
    /// before.
    pub(super) listed: Vec<SnapshotLink>,
}

/// A view that a summary replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplacedView {
    /// The view as it was, to which an undo returns.
    pub view: ModelView,
    /// The number of messages of the new view that replace it; later messages are new.
    pub replaced_by: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Source {
    seq: u64,
    message: usize,
    /// The size of the view up to this source, so that a part of the view need not be measured.
    bytes: u64,
    chars: u64,
}

/// A snapshot, and how many of the sources are listed by it and by the snapshots whose lists it
/// continues.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SnapshotLink {
    pub(crate) snapshot: u64,
    pub(crate) sources: usize,
}

/// Up to this many sources a snapshot lists all of them and continues no other.
const MAX_LISTED_WHOLE: usize = 256;

impl ModelView {
    pub(super) fn push(&mut self, message: Arc<Message>, seq: u64) {
        let (bytes, chars) = size(&message);
        self.bytes += bytes;
        self.chars += chars;
        // Only answers carry a count; it covers the conversation up to and including the message.
        if let Some(usage) = message.usage {
            self.latest_usage = Some((message.id.clone(), usage));
        }
        self.push_source(seq, self.messages.len());
        // Copies the list only if a request still holds it; the messages themselves are never
        // copied.
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Adds a tool result. The results of one answer form one message, which grows with each.
    pub(super) fn push_result(&mut self, id: &MessageId, result: &Arc<ToolResult>, seq: u64) {
        let last = self.messages.last().filter(|message| message.id == *id);
        if last.is_none() {
            self.push(Message::tool(id.clone(), vec![result.clone()]).into(), seq);
            return;
        }
        let messages = Arc::make_mut(&mut self.messages);
        let Some(message) = messages.last_mut() else { return };
        let message = Arc::make_mut(message);
        message.content.push(Block::ToolResult(result.clone()));
        // A block is written with its type and, after the first, a comma.
        self.bytes += json_len(result) + r#","type":"tool_result""#.len() as u64 + 1;
        self.chars += result_chars(result);
        self.push_source(seq, self.messages.len() - 1);
    }

    fn push_source(&mut self, seq: u64, message: usize) {
        self.sources.push(Source { seq, message, bytes: self.bytes, chars: self.chars });
    }

    pub(super) fn compact(
        &mut self,
        summary: Arc<Message>,
        keep_from: Option<&MessageId>,
        seq: u64,
    ) {
        let mut view = std::mem::take(self);
        // Only the last compaction can be undone; the journal has everything before it.
        view.before = None;
        let kept =
            keep_from.and_then(|id| view.messages.iter().position(|message| message.id == *id));
        // System messages are not summarised: they stay, before the summary.
        for at in 0..kept.unwrap_or(view.messages.len()) {
            if view.messages[at].role() == Role::System {
                self.extend(&view, at..at + 1);
            }
        }
        self.push(summary, seq);
        if let Some(first) = kept {
            self.extend(&view, first..view.messages.len());
        }
        let replaced_by = self.messages.len();
        // The provider's count was for the view before the compaction.
        self.latest_usage = None;
        self.before = Some(Box::new(ReplacedView { view, replaced_by }));
    }

    /// Keeps only the first messages.
    pub(super) fn rewind(&mut self, keep: u64) {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(self.messages.len());
        self.before = self.before.take().filter(|before| before.replaced_by <= keep);
        // The count of the provider was for messages that are gone.
        self.latest_usage = None;
        Arc::make_mut(&mut self.messages).truncate(keep);
        self.sources.truncate(self.sources_before(keep));
        (self.bytes, self.chars) = self.size_of(self.sources.len());
        // A snapshot that lists more than is left cannot be continued.
        self.listed.retain(|listed| listed.sources <= self.sources.len());
    }

    /// Keeps only the first messages, in a way that [`restore`](Self::restore) undoes.
    pub(super) fn rewind_undoable(&mut self, keep: u64) {
        // The whole view is kept, not only the cut part: what is cut may be replaced by other
        // messages.
        let mut old = self.clone();
        self.rewind(keep);
        let replaced_by = self.messages.len();
        // If an earlier rewind cut this view and nothing was added since, undoing both returns to the
        // view before the first.
        let cut = old.before.take().filter(|before| {
            let len = old.messages.len();
            before.replaced_by == len
                && before.view.messages.get(..len).is_some_and(|same| {
                    same.iter().zip(old.messages.iter()).all(|(a, b)| a.id == b.id)
                })
        });
        let view = cut.map_or(old, |before| before.view);
        self.before = Some(Box::new(ReplacedView { view, replaced_by }));
    }

    /// Returns the number of sources of the messages before this one.
    fn sources_before(&self, message: usize) -> usize {
        self.sources.partition_point(|source| source.message < message)
    }

    /// Returns the bytes and characters of the first sources.
    fn size_of(&self, sources: usize) -> (u64, u64) {
        let last = sources.checked_sub(1).and_then(|at| self.sources.get(at));
        last.map_or((0, 0), |last| (last.bytes, last.chars))
    }

    /// Returns the messages of this view that are made from the first of these events, and how many
    /// events that are. The messages are shared, not copied.
    pub(super) fn prefix_of(&self, events: &[u64]) -> (Self, usize) {
        // Compared by events: a message of several tool results has several.
        let pairs = self.sources.iter().zip(events);
        let mut sources = pairs.take_while(|(source, event)| source.seq == **event).count();
        // A message that grew here by more results than are listed is not the same.
        if let Some(next) = self.sources.get(sources) {
            sources = sources.min(self.sources_before(next.message));
        }
        let messages = sources.checked_sub(1).map_or(0, |last| self.sources[last].message + 1);
        let mut prefix = Self::default();
        prefix.extend(self, 0..messages);
        (prefix, sources)
    }

    /// Undoes the last compaction or undoable rewind; the messages after it stay.
    pub(super) fn restore(&mut self) {
        let Some(before) = self.before.take() else { return };
        let shorter = std::mem::replace(self, before.view);
        self.extend(&shorter, before.replaced_by..shorter.messages.len());
        self.latest_usage = None;
    }

    /// Appends messages of another view, with their sources.
    fn extend(&mut self, other: &Self, range: Range<usize>) {
        let (from, to) = (other.sources_before(range.start), other.sources_before(range.end));
        let (shift, first) = (self.messages.len(), range.start);
        let (bytes, chars) = (self.bytes, self.chars);
        let before = other.size_of(from);
        self.sources.extend(other.sources[from..to].iter().map(|source| Source {
            seq: source.seq,
            message: source.message - first + shift,
            bytes: source.bytes - before.0 + bytes,
            chars: source.chars - before.1 + chars,
        }));
        (self.bytes, self.chars) = self.size_of(self.sources.len());
        let messages = other.messages.get(range).unwrap_or_default();
        Arc::make_mut(&mut self.messages).extend_from_slice(messages);
    }

    /// Returns the references that a snapshot records for this view.
    pub(super) fn refs(&self) -> ViewRefs {
        let base = self.base();
        let latest_usage = self
            .latest_usage
            .as_ref()
            .map(|(message, usage)| CountedUsage { message: message.clone(), usage: *usage });
        let listed = base.map_or(0, |base| base.sources);
        let events = self.sources.iter().skip(listed).map(|source| source.seq).collect();
        ViewRefs { base: base.map(|base| base.snapshot), events, latest_usage }
    }

    /// Returns the snapshot whose list the next one continues. A snapshot that lists at most twice
    /// as much as is new is not continued; its events are listed again. So each link of the chain
    /// lists more than twice as much as the next one, and a resume follows few links, however many
    /// snapshots the session has.
    fn base(&self) -> Option<SnapshotLink> {
        // From the newest link on: a short chain is more important than a short list.
        let mut links = self.listed.as_slice();
        while let [older @ .., last] = links {
            let own = last.sources - older.last().map_or(0, |link| link.sources);
            let new = self.sources.len() - last.sources;
            if own > 2 * new && own + new > MAX_LISTED_WHOLE {
                return Some(*last);
            }
            links = older;
        }
        None
    }

    /// Records that a snapshot was taken that continues the list of `base`.
    pub(super) fn on_snapshot(&mut self, snapshot: u64, base: Option<u64>) {
        self.drop_links_after(base);
        self.listed.push(SnapshotLink { snapshot, sources: self.sources.len() });
    }

    /// Removes the links after `base`, the snapshot whose list the last snapshot continued.
    pub(super) fn drop_links_after(&mut self, base: Option<u64>) {
        let links = self.listed.iter().position(|link| Some(link.snapshot) == base);
        self.listed.truncate(links.map_or(0, |at| at + 1));
    }
}

fn size(message: &Message) -> (u64, u64) {
    let chars = message.content.iter().map(block_chars).sum();
    (json_len(message), chars)
}

fn block_chars(block: &Block) -> u64 {
    match block {
        Block::Text(text) => text.text.chars().count() as u64,
        Block::Thinking(thinking) => thinking.thinking.chars().count() as u64,
        Block::ToolResult(result) => result_chars(result),
        Block::Image(_) | Block::ToolUse(_) | Block::Opaque(_) | Block::Unknown(_) => {
            json_len(block)
        }
    }
}

pub(crate) fn result_chars(result: &ToolResult) -> u64 {
    let chars = |block: &ResultBlock| match block {
        ResultBlock::Text(part) => part.text.chars().count() as u64,
        // An image counts by its size in pixels on every service, which is not known here; the
        // exact usage corrects the estimate.
        ResultBlock::Image(_) | ResultBlock::Unknown(_) => 0,
    };
    result.content.iter().map(chars).sum()
}

/// Returns the size of a value as JSON, in bytes, without storing the JSON.
pub(super) fn json_len<T: Serialize>(value: &T) -> u64 {
    struct Counter(u64);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // The counter cannot fail. A value that cannot be serialised counts up to the failure.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}
