//! Requests from round to round: a message is written once, and its bytes are used again as
//! long as the conversation keeps it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use robota_core::blob::Blobs;
use robota_core::message::Message;
use robota_core::provider::{ModelRequest, NativeWeb};
use robota_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::encode::{Cx, Frame, Lost, blobs_of};
use super::plan::{Plan, Step};
use super::{Body, Encode, Piece, Side};
use crate::profile::{Quirks, Wire};

/// Every so many entries, those of messages nobody keeps any more are thrown out.
const SWEEP: usize = 64;

struct Entry {
    /// Holds the place in memory, so that another message cannot be taken for this one.
    message: Weak<Message>,
    print: u64,
    pieces: Arc<[Piece]>,
}

/// Tools, and their bytes.
type WrittenTools = (Arc<[ToolSpec]>, Arc<[u8]>);

/// The bytes of messages, by where the conversation keeps them.
#[derive(Default)]
pub(crate) struct PieceCache {
    entries: Mutex<HashMap<usize, Entry>>,
    tools: Mutex<Option<WrittenTools>>,
}

impl PieceCache {
    fn get(&self, message: &Arc<Message>, print: u64) -> Option<Arc<[Piece]>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&(Arc::as_ptr(message) as usize))?;
        let same = std::ptr::eq(entry.message.as_ptr(), Arc::as_ptr(message));
        (same && entry.print == print).then(|| Arc::clone(&entry.pieces))
    }

    fn put(&self, message: &Arc<Message>, print: u64, pieces: &Arc<[Piece]>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() % SWEEP == SWEEP - 1 {
            entries.retain(|_, entry| entry.message.strong_count() > 0);
        }
        let entry = Entry { message: Arc::downgrade(message), print, pieces: Arc::clone(pieces) };
        entries.insert(Arc::as_ptr(message) as usize, entry);
    }
}

/// What does not change between the requests of one provider.
pub(crate) struct Writer<'a> {
    pub(crate) wire: Wire,
    pub(crate) encoder: &'a dyn Encode,
    pub(crate) quirks: &'a Quirks,
    pub(crate) cache: &'a PieceCache,
    pub(crate) blobs: Option<&'a dyn Blobs>,
}

impl Writer<'_> {
    /// Writes a request.
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
        let mut lasting = 0;
        for (at, step) in plan.steps.iter().enumerate() {
            let pieces = match step {
                Step::Unanswered(calls) => self.encoder.unanswered(calls, &cx).into(),
                Step::Message { message, kept: None } => {
                    self.encoder.message(&message.for_api(), &cx).into()
                }
                Step::Message { message, kept: Some(kept) } => {
                    let print = plan.print(message, &request.model);
                    match self.cache.get(kept, print) {
                        Some(pieces) => pieces,
                        None => {
                            let missing = lost.missing.get();
                            let pieces: Arc<[Piece]> =
                                self.encoder.message(&message.for_api(), &cx).into();
                            // An attachment that is missing now may be there next time.
                            if lost.missing.get() == missing {
                                self.cache.put(kept, print, &pieces);
                            }
                            pieces
                        }
                    }
                }
            };
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
        Body { bytes: self.encoder.body(&frame, &pieces), facts: lost.facts() }
    }

    /// The tools, written once for as long as they stay the same.
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

    /// The attachments of messages that are not written yet.
    async fn load(&self, request: &ModelRequest, plan: &Plan<'_>) -> HashMap<String, Vec<u8>> {
        let mut loaded = HashMap::new();
        let Some(store) = self.blobs else { return loaded };
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
                    tracing::warn!(blob = %blob.sha256, "an attachment is not there any more");
                }
                Err(error) => {
                    tracing::warn!(blob = %blob.sha256, %error, "an attachment cannot be read");
                }
            }
        }
        loaded
    }
}
