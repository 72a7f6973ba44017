//! The conversation as the model sees it, and what it saw before the last summary.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{CountedUsage, ViewRefs};
use crate::ids::MessageId;
use crate::message::{Block, Message, ResultBlock, Role, ToolResult};
use crate::provider::View;
use crate::usage::Usage;

/// The conversation as the model sees it, with running totals so that nothing walks it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelView {
    /// The messages.
    pub messages: View,
    /// Their size as JSON.
    pub bytes: u64,
    /// Their characters, for the careful estimate.
    pub chars: u64,
    /// What the provider counted last, and for which message.
    pub latest_usage: Option<(MessageId, Usage)>,
    /// What the model saw before the last summary.
    pub before: Option<Box<Shortened>>,
    /// The numbers of the events, and for each the message it is part of.
    sources: Vec<Source>,
    /// The snapshots that list the sources, oldest first; each builds on the one before it.
    pub(super) listed: Vec<Listed>,
}

/// A conversation that a summary took the place of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shortened {
    /// The conversation.
    pub view: ModelView,
    /// How many messages of the shorter one stand for it; those after them are new.
    pub replaced_by: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Source {
    seq: u64,
    message: usize,
}

/// A snapshot, and how many of the sources it and those it builds on list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) snapshot: u64,
    pub(crate) sources: usize,
}

/// A snapshot that lists up to this many sources builds on no other.
const LISTED_WHOLE: usize = 256;

impl ModelView {
    pub(super) fn push(&mut self, message: Message, seq: u64) {
        let (bytes, chars) = size(&message);
        self.bytes += bytes;
        self.chars += chars;
        if let Some(usage) = message.usage {
            self.latest_usage = Some((message.id.clone(), usage));
        }
        self.sources.push(Source { seq, message: self.messages.len() });
        Arc::make_mut(&mut self.messages).push(Arc::new(message));
    }

    /// The results of one answer are one message: it grows with each.
    pub(super) fn push_result(&mut self, id: &MessageId, result: &ToolResult, seq: u64) {
        let last = self.messages.last().filter(|message| message.id == *id);
        if last.is_none() {
            self.push(Message::tool(id.clone(), vec![result.clone()]), seq);
            return;
        }
        self.sources.push(Source { seq, message: self.messages.len() - 1 });
        let messages = Arc::make_mut(&mut self.messages);
        let Some(message) = messages.last_mut() else { return };
        let message = Arc::make_mut(message);
        message.content.push(Block::ToolResult(result.clone()));
        // The comma between two results.
        self.bytes += json_len(result) + r#","type":"tool_result""#.len() as u64 + 1;
        self.chars += result_chars(result);
    }

    pub(super) fn compact(&mut self, summary: Message, keep_from: Option<&MessageId>, seq: u64) {
        let mut view = std::mem::take(self);
        // Only the last one can be restored: what is before it is in the journal.
        view.before = None;
        let kept =
            keep_from.and_then(|id| view.messages.iter().position(|message| message.id == *id));
        // Instructions are not summarised: they stay, in front.
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
        // What the provider counted was counted for the conversation before.
        self.latest_usage = None;
        self.before = Some(Box::new(Shortened { view, replaced_by }));
    }

    /// Only the first messages stay.
    pub(super) fn rewind(&mut self, keep: u64) {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(self.messages.len());
        let mut view = std::mem::take(self);
        self.before = view.before.take().filter(|before| before.replaced_by <= keep);
        view.truncate(keep);
        self.extend(&view, 0..view.messages.len());
        // A snapshot that lists more than is left cannot be built on.
        self.listed = view.listed;
        self.listed.retain(|listed| listed.sources <= self.sources.len());
    }

    fn truncate(&mut self, keep: usize) {
        Arc::make_mut(&mut self.messages).truncate(keep);
        self.sources.retain(|source| source.message < keep);
    }

    /// Takes the last summary back; what followed it stays.
    pub(super) fn restore(&mut self) {
        let Some(before) = self.before.take() else { return };
        let shorter = std::mem::replace(self, before.view);
        self.extend(&shorter, before.replaced_by..shorter.messages.len());
        self.latest_usage = None;
    }

    /// Adds messages of another view, with where they came from.
    fn extend(&mut self, other: &Self, range: Range<usize>) {
        let (shift, first) = (self.messages.len(), range.start);
        for message in other.messages.get(range.clone()).unwrap_or_default() {
            let (bytes, chars) = size(message);
            self.bytes += bytes;
            self.chars += chars;
            Arc::make_mut(&mut self.messages).push(Arc::clone(message));
        }
        let moved = other.sources.iter().filter(|source| range.contains(&source.message));
        self.sources.extend(
            moved.map(|source| Source { message: source.message - first + shift, ..*source }),
        );
    }

    /// What a snapshot says of it.
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

    /// The snapshot that the next one builds on. One that lists not much more than is new is
    /// listed again instead: so each link of the chain lists more than twice as much as the next,
    /// and a resume follows few links however often the session was snapshotted.
    fn base(&self) -> Option<Listed> {
        let mut links = self.listed.as_slice();
        while let [older @ .., last] = links {
            let own = last.sources - older.last().map_or(0, |link| link.sources);
            let new = self.sources.len() - last.sources;
            if own > 2 * new && own + new > LISTED_WHOLE {
                return Some(*last);
            }
            links = older;
        }
        None
    }

    /// A snapshot that builds on `base` was taken.
    pub(super) fn list(&mut self, snapshot: u64, base: Option<u64>) {
        self.build_on(base);
        self.listed.push(Listed { snapshot, sources: self.sources.len() });
    }

    /// Forgets the snapshots after the one that the last snapshot built on.
    pub(super) fn build_on(&mut self, base: Option<u64>) {
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
        ResultBlock::Image(_) | ResultBlock::Unknown(_) => 0,
    };
    result.content.iter().map(chars).sum()
}

/// How many bytes a value is as JSON, without writing it anywhere.
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
    // Counting cannot fail; what could not be written would count as what came before it.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}
