//! Caches encoded messages between requests: each message is encoded once for as long as it is part
//! of the conversation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use robota_core::blob::Blobs;
use robota_core::message::Message;
use robota_core::provider::{LeftOut, ModelRequest, NativeWeb};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::encode::{Cx, Frame, Lost, blobs_of};
use super::plan::{Plan, Step};
use super::{Body, Encode, Piece, Side};
use crate::profile::{Quirks, Wire};

/// The number of entries after which those of dropped messages are removed.
const SWEEP: usize = 64;

struct Entry {
    /// Keeps the allocation reserved, so that a later message cannot have the same address.
    message: Weak<Message>,
    print: u64,
    written: Written,
}

/// The encoded pieces of a message, and what was left out of them.
#[derive(Clone)]
struct Written {
    pieces: Arc<[Piece]>,
    left_out: LeftOut,
}

/// Tools and their encoding.
type WrittenTools = (Arc<[ToolSpec]>, Arc<[u8]>);

/// The encoded messages, by the address of the message in memory.
#[derive(Default)]
pub(crate) struct PieceCache {
    entries: Mutex<HashMap<usize, Entry>>,
    tools: Mutex<Option<WrittenTools>>,
}

impl PieceCache {
    fn get(&self, message: &Arc<Message>, print: u64) -> Option<Written> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&(Arc::as_ptr(message) as usize))?;
        let same = std::ptr::eq(entry.message.as_ptr(), Arc::as_ptr(message));
        (same && entry.print == print).then(|| entry.written.clone())
    }

    fn put(&self, message: &Arc<Message>, print: u64, written: Written) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() % SWEEP == SWEEP - 1 {
            entries.retain(|_, entry| entry.message.strong_count() > 0);
        }
        let entry = Entry { message: Arc::downgrade(message), print, written };
        entries.insert(Arc::as_ptr(message) as usize, entry);
    }
}

/// Encodes the requests of one provider.
pub(crate) struct Writer<'a> {
    pub(crate) wire: Wire,
    pub(crate) encoder: &'a dyn Encode,
    pub(crate) quirks: &'a Quirks,
    pub(crate) cache: &'a PieceCache,
    pub(crate) blobs: &'a dyn Blobs,
}

impl Writer<'_> {
    /// Encodes a request body.
    pub(crate) async fn body(
        &self,
        request: &ModelRequest,
        options: &Map<String, Value>,
        web: NativeWeb,
    ) -> Body {
        let plan = Plan::new(request, self.encoder.ids(self.quirks));
        let blobs = self.load(request, &plan).await;
        let lost = Lost::default();
        let cx = Cx {
            plan: &plan,
            wire: self.wire,
            model: &request.model,
            quirks: self.quirks,
            blobs: &blobs,
            lost: &lost,
        };
        let mut written: Vec<Arc<[Piece]>> = Vec::with_capacity(plan.steps.len());
        let mut left_out = LeftOut::default();
        let mut lasting = 0;
        let write = |message: &Message| {
            cx.count_foreign_proofs(message);
            let pieces = self.encoder.message(&message.for_api(), &cx).into();
            Written { pieces, left_out: lost.take() }
        };
        for (at, step) in plan.steps.iter().enumerate() {
            let Written { pieces, left_out: without } = match step {
                Step::Unanswered(calls) => {
                    let pieces = self.encoder.unanswered(calls, &cx).into();
                    Written { pieces, left_out: lost.take() }
                }
                Step::Message { message, kept: None } => write(message),
                Step::Message { message, kept: Some(kept) } => {
                    let print = plan.print(message, &request.model);
                    match self.cache.get(kept, print) {
                        Some(written) => written,
                        None => {
                            let written = write(message);
                            // A missing attachment may be available for the next request, so this
                            // is not cached.
                            if written.left_out.missing == 0 {
                                self.cache.put(kept, print, written.clone());
                            }
                            written
                        }
                    }
                }
            };
            left_out += without;
            if at < plan.lasting {
                lasting += pieces.len();
            }
            written.push(pieces);
        }
        let pieces: Vec<&Piece> = written.iter().flat_map(|pieces| pieces.iter()).collect();
        let tools = self.tools(request);
        let has_calls = request.messages.iter().any(|message| message.tool_uses().next().is_some());
        let frame =
            Frame { request, quirks: self.quirks, options, web, tools: &tools, has_calls, lasting };
        Body { bytes: self.encoder.body(&frame, &pieces), left_out }
    }

    /// Returns the encoded tools; encodes them again only if they changed.
    fn tools(&self, request: &ModelRequest) -> Arc<[u8]> {
        let mut kept = self.cache.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((tools, written)) = &*kept
            && Arc::ptr_eq(tools, &request.tools)
        {
            return Arc::clone(written);
        }
        let elements = self.encoder.tools(&request.tools, self.quirks);
        let written: Arc<[u8]> =
            Piece::new(Side::User, &elements).map(|piece| piece.json).unwrap_or_default().into();
        *kept = Some((Arc::clone(&request.tools), Arc::clone(&written)));
        written
    }

    /// Loads the attachments of messages that are not in the cache.
    async fn load(&self, request: &ModelRequest, plan: &Plan<'_>) -> HashMap<String, Vec<u8>> {
        let mut loaded = HashMap::new();
        let store = self.blobs;
        let fresh = request.messages.iter().filter(|message| {
            !blobs_of(message).is_empty()
                && self.cache.get(message, plan.print(message, &request.model)).is_none()
        });
        let needed: Vec<_> = fresh
            .map(AsRef::as_ref)
            .chain(&request.instruction)
            .flat_map(blobs_of)
            .cloned()
            .collect();
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
