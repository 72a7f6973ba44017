//! Records what a run learns about its model calls in addition to the events of the session: the
//! tokens that a service counts when it begins to answer, its rate limits, and the ends of the
//! blocks of an answer, which the events of a streamed answer do not contain.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::ids::TurnId;
use robota_core::message::Block;
use robota_core::provider::{
    Delta, DeltaStream, ModelRequest, Provider, ProviderError, RateLimits,
};
use robota_core::usage::Usage;

/// Watches the model calls of a run.
#[derive(Default)]
pub(crate) struct ModelWatch(Mutex<State>);

#[derive(Default)]
struct State {
    /// The first token counts of the answers of a turn, by the number of messages in the request.
    // The events of the session have no id of a request, but its number of messages.
    first: HashMap<(TurnId, u64), Usage>,
    /// The blocks that the last answer of each turn contains.
    ends: HashMap<TurnId, BlockEnds>,
    /// Whether the ends of blocks are wanted.
    wants_ends: bool,
    limits: Option<RateLimits>,
}

/// The blocks of the answer to a request with this many messages.
struct BlockEnds {
    messages: u64,
    ends: VecDeque<BlockEnd>,
}

/// The most turns whose blocks are kept. A turn that no line shows is never asked for.
const MAX_TURNS: usize = 32;

/// A block of an answer that is complete.
pub(crate) struct BlockEnd {
    /// How much of the answer comes before the end of the block.
    pub(crate) at: AnswerPosition,
    /// The block: reasoning, or one that only its provider understands.
    pub(crate) block: Block,
}

/// A position in a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AnswerPosition {
    /// The bytes of text and reasoning before it.
    pub(crate) bytes: u64,
    /// The complete calls before it.
    pub(crate) calls: u32,
}

impl ModelWatch {
    /// Also watches the ends of blocks, for [`Self::next_end`].
    pub(crate) fn watch_ends(&self) {
        self.lock().wants_ends = true;
    }

    /// Returns the next block of the answer to a request with this many messages, if it ends at
    /// this position or before it.
    pub(crate) fn next_end(
        &self,
        turn: &TurnId,
        messages: u64,
        position: AnswerPosition,
    ) -> Option<BlockEnd> {
        let mut state = self.lock();
        let of_turn = state.ends.get_mut(turn).filter(|of_turn| of_turn.messages == messages)?;
        of_turn
            .ends
            .pop_front_if(|end| end.at.bytes <= position.bytes && end.at.calls <= position.calls)
    }

    /// Returns after how many bytes the next block of an answer ends; `None` if that is not known
    /// yet.
    pub(crate) fn bytes_to_end(&self, turn: &TurnId, messages: u64, bytes: u64) -> Option<u64> {
        let state = self.lock();
        let of_turn = state.ends.get(turn).filter(|of_turn| of_turn.messages == messages)?;
        let next = of_turn.ends.front()?;
        next.at.bytes.checked_sub(bytes)
    }

    /// Returns a provider that reports its calls here.
    pub(crate) fn wrap(self: &Arc<Self>, inner: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(WatchedProvider { inner, watch: self.clone() })
    }

    /// Returns the first token counts of the answer to a request with this many messages.
    pub(crate) fn take_first_usage(&self, turn: &TurnId, messages: u64) -> Option<Usage> {
        self.lock().first.remove(&(turn.clone(), messages))
    }

    /// Returns the rate limits that the last response described.
    pub(crate) fn rate_limits(&self) -> Option<RateLimits> {
        self.lock().limits.clone()
    }

    /// Follows an answer, and keeps the blocks that it contains.
    fn follow(&self, key: &(TurnId, u64), position: &mut AnswerPosition, delta: &Delta) {
        let block = match delta {
            Delta::Text(text) | Delta::Thinking(text) => {
                position.bytes += text.len() as u64;
                return;
            }
            Delta::Block(Block::ToolUse(_)) => {
                position.calls += 1;
                return;
            }
            Delta::Block(block @ (Block::Thinking(_) | Block::Opaque(_))) => block,
            _ => return,
        };
        let end = BlockEnd { at: *position, block: block.clone() };
        if let Some(of_turn) = self.lock().ends.get_mut(&key.0) {
            of_turn.ends.push_back(end);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets earlier answers. Returns whether the ends of blocks are wanted.
    fn start(&mut self, (turn, messages): &(TurnId, u64)) -> bool {
        self.first.retain(|(other, _), _| other == turn);
        if self.wants_ends {
            if self.ends.len() >= MAX_TURNS {
                self.ends.clear();
            }
            let ends = BlockEnds { messages: *messages, ends: VecDeque::new() };
            self.ends.insert(turn.clone(), ends);
        }
        self.wants_ends
    }
}

struct WatchedProvider {
    inner: Arc<dyn Provider>,
    watch: Arc<ModelWatch>,
}

#[async_trait::async_trait]
impl Provider for WatchedProvider {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Provider> {
        Some(&*self.inner)
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let messages = request.messages.len() as u64;
        let turn = context.turn.clone();
        let answer = self.inner.stream(request, context).await;
        // Read after a failure too: the headers of a refused call describe the limits best.
        self.watch.lock().limits = self.inner.rate_limits();
        let stream = answer?;
        let Some(turn) = turn else { return Ok(stream) };
        let watch = self.watch.clone();
        let key = (turn, messages);
        let mut counted = false;
        let mut ends = watch.lock().start(&key).then(AnswerPosition::default);
        Ok(stream
            .inspect(move |item| match item {
                // The first count is that of the prompt; later ones include the answer.
                Ok(Delta::Usage(usage)) if !counted => {
                    counted = true;
                    watch.lock().first.insert(key.clone(), *usage);
                }
                Ok(delta) => {
                    if let Some(position) = &mut ends {
                        watch.follow(&key, position, delta);
                    }
                }
                Err(_) => {}
            })
            .boxed())
    }
}
