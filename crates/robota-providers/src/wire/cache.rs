//! Caches encoded messages between requests: each message is encoded once for as long as it is part
//! of the conversation.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use robota_core::blob::Blobs;
use robota_core::message::Message;
use robota_core::provider::{LeftOut, ModelRequest, NativeWeb};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::encode::{EncodeContext, LeftOutCounter, RequestFrame, blobs_of};
use super::plan::{Origin, Plan, Step};
use super::{Body, Encode, Piece, PieceRole};
use crate::profile::{Quirks, Wire};

/// The number of entries after which those of dropped messages are removed.
const SWEEP_INTERVAL: usize = 64;

struct Entry {
    /// Keeps the allocation reserved, so that a later message cannot have the same address.
    message: Weak<Message>,
    fingerprint: u64,
    encoded: EncodedMessage,
}

/// The encoded pieces of a message, and what was left out of them.
#[derive(Clone)]
struct EncodedMessage {
    pieces: Arc<[Piece]>,
    left_out: LeftOut,
}

/// Tools and their encoding.
type EncodedTools = (Arc<[ToolSpec]>, Arc<[u8]>);

/// The encoded messages, by the address of the message in memory.
#[derive(Default)]
pub(crate) struct PieceCache {
    entries: Mutex<HashMap<usize, Entry>>,
    tools: Mutex<Option<EncodedTools>>,
}

impl PieceCache {
    fn get(&self, message: &Arc<Message>, fingerprint: u64) -> Option<EncodedMessage> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&(Arc::as_ptr(message) as usize))?;
        let same = std::ptr::eq(entry.message.as_ptr(), Arc::as_ptr(message));
        // The fingerprint differs when another model or another prefix makes the same message
        // encode differently.
        (same && entry.fingerprint == fingerprint).then(|| entry.encoded.clone())
    }

    fn put(&self, message: &Arc<Message>, fingerprint: u64, encoded: EncodedMessage) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() % SWEEP_INTERVAL == SWEEP_INTERVAL - 1 {
            entries.retain(|_, entry| entry.message.strong_count() > 0);
        }
        let entry = Entry { message: Arc::downgrade(message), fingerprint, encoded };
        entries.insert(Arc::as_ptr(message) as usize, entry);
    }
}

/// Encodes the requests of one provider.
pub(crate) struct BodyWriter<'a> {
    pub(crate) wire: Wire,
    pub(crate) encoder: &'a dyn Encode,
    pub(crate) quirks: &'a Quirks,
    pub(crate) cache: &'a PieceCache,
    pub(crate) blobs: &'a dyn Blobs,
}

impl BodyWriter<'_> {
    /// Encodes a request body.
    pub(crate) async fn body(
        &self,
        request: &ModelRequest,
        options: &Map<String, Value>,
        web: NativeWeb,
    ) -> Body {
        let plan = Plan::new(request, self.encoder.ids(self.quirks));
        // Models that take a budget for reasoning require it back with calls and do not check what was
        // before it.
        let checks_prefix = options.get("thinking").and_then(|thinking| thinking.get("type"))
            != Some(&Value::from("enabled"));
        let origin =
            |prefix| Origin { model: &request.model, prefix: checks_prefix.then_some(prefix) };
        let blobs = self.load(&plan, origin).await;
        let counts = LeftOutCounter::default();
        let context = EncodeContext {
            plan: &plan,
            wire: self.wire,
            origin: Cell::new(Origin { model: &request.model, prefix: None }),
            quirks: self.quirks,
            blobs: &blobs,
            counts: &counts,
        };
        let mut encoded: Vec<Arc<[Piece]>> = Vec::with_capacity(plan.steps.len());
        let mut left_out = LeftOut::default();
        let mut persistent = 0;
        let encode = |message: &Message| {
            context.count_foreign_signatures(message);
            let pieces = self.encoder.message(&message.for_api(), &context).into();
            EncodedMessage { pieces, left_out: counts.take() }
        };
        for (at, step) in plan.steps.iter().enumerate() {
            let EncodedMessage { pieces, left_out: message_left_out } = match step {
                Step::Unanswered(calls) => {
                    let pieces = self.encoder.unanswered(calls, &context).into();
                    EncodedMessage { pieces, left_out: counts.take() }
                }
                Step::Message { message, shared: None, prefix } => {
                    context.origin.set(origin(*prefix));
                    encode(message)
                }
                Step::Message { message, shared: Some(shared), prefix } => {
                    context.origin.set(origin(*prefix));
                    let fingerprint = plan.fingerprint(message, &origin(*prefix));
                    match self.cache.get(shared, fingerprint) {
                        Some(encoded) => encoded,
                        None => {
                            let encoded = encode(message);
                            // A missing attachment may be available for the next request, so this
                            // is not cached.
                            if encoded.left_out.missing == 0 {
                                self.cache.put(shared, fingerprint, encoded.clone());
                            }
                            encoded
                        }
                    }
                }
            };
            left_out += message_left_out;
            if at < plan.persistent {
                persistent += pieces.len();
            }
            encoded.push(pieces);
        }
        let pieces: Vec<&Piece> = encoded.iter().flat_map(|pieces| pieces.iter()).collect();
        let tools = self.tools(request);
        let has_calls = request.messages.iter().any(|message| message.tool_uses().next().is_some());
        let mut options = options.clone();
        let cache_ttl = options.shift_remove("cache_ttl");
        // Requests of one session share a prefix; the key makes the service route them to the same
        // cache.
        if self.quirks.prompt_cache_key
            && let Some(key) = &request.cache_key
            && !options.contains_key("prompt_cache_key")
        {
            options.insert("prompt_cache_key".to_owned(), key.as_str().into());
        }
        let frame = RequestFrame {
            request,
            quirks: self.quirks,
            options: &options,
            web,
            tools: &tools,
            cache_ttl: cache_ttl.as_ref().and_then(Value::as_str),
            has_calls,
            persistent,
        };
        Body { bytes: self.encoder.body(&frame, &pieces), prefix: plan.prefix, left_out }
    }

    /// Returns the encoded tools; encodes them again only if they changed.
    fn tools(&self, request: &ModelRequest) -> Arc<[u8]> {
        let mut cached = self.cache.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((tools, encoded)) = &*cached
            && Arc::ptr_eq(tools, &request.tools)
        {
            return Arc::clone(encoded);
        }
        let elements = self.encoder.tools(&request.tools, self.quirks);
        let encoded: Arc<[u8]> = Piece::new(PieceRole::User, &elements)
            .map(|piece| piece.json)
            .unwrap_or_default()
            .into();
        *cached = Some((Arc::clone(&request.tools), Arc::clone(&encoded)));
        encoded
    }

    /// Loads the attachments of messages that are not in the cache.
    async fn load<'a>(
        &self,
        plan: &Plan<'_>,
        origin: impl Fn(u64) -> Origin<'a>,
    ) -> HashMap<String, Vec<u8>> {
        let mut loaded = HashMap::new();
        let store = self.blobs;
        let uncached = plan.steps.iter().filter_map(|step| match step {
            Step::Message { message, .. } if blobs_of(message).is_empty() => None,
            Step::Message { message, shared: Some(shared), prefix } => {
                let fingerprint = plan.fingerprint(message, &origin(*prefix));
                self.cache.get(shared, fingerprint).is_none().then_some(*message)
            }
            Step::Message { message, shared: None, .. } => Some(*message),
            Step::Unanswered(_) => None,
        });
        let needed: Vec<_> = uncached.flat_map(blobs_of).cloned().collect();
        for blob in needed {
            if loaded.contains_key(&blob.sha256) {
                continue;
            }
            match store.get(&blob).await {
                Ok(Some(bytes)) => drop(loaded.insert(blob.sha256.clone(), bytes)),
                Ok(None) => {
                    tracing::warn!(blob = %blob.sha256, "attachment not found in the blob store");
                }
                Err(error) => {
                    tracing::warn!(blob = %blob.sha256, %error, "cannot read an attachment");
                }
            }
        }
        loaded
    }
}
