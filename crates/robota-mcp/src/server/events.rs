//! The events of HTTP streams, kept so that a client that lost its connection can continue.
//!
//! The id of an event names its stream and its position: `STREAM.NUMBER`. The name of a stream is
//! random, so that a client cannot ask for the events of another one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::stream;
use rmcp::model::JsonRpcMessage;
use rmcp::transport::streamable_http_server::session::{
    EventStore, EventStoreError, EventStream, ServerSseMessage,
};
use robota_core::ids::Ids;
use tokio::sync::watch;

/// How many events of a stream are kept.
// A host that lost its connection comes back within seconds; a call reports progress a few times a
// second.
const KEPT_EVENTS: usize = 256;
/// How many streams are kept.
const KEPT_STREAMS: usize = 256;
/// How many bytes of events are kept, as JSON. Results of tools can have images.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// The events of all streams.
pub(super) struct Events {
    ids: Arc<dyn Ids>,
    streams: Arc<Mutex<Streams>>,
}

#[derive(Default)]
struct Streams {
    /// Random names, by the names that the library uses.
    names: HashMap<String, String>,
    by_name: HashMap<String, Stream>,
    /// The names, the oldest first.
    order: VecDeque<(String, String)>,
    /// The size of all events.
    bytes: usize,
}

struct Stream {
    events: VecDeque<Kept>,
    /// The number of the last event.
    last: watch::Sender<u64>,
    /// Whether the response was stored, after which nothing follows.
    ended: bool,
}

/// An event that is kept.
struct Kept {
    number: u64,
    bytes: usize,
    event: ServerSseMessage,
}

impl Events {
    pub(super) fn new(ids: Arc<dyn Ids>) -> Self {
        Self { ids, streams: Arc::default() }
    }
}

fn lock(streams: &Mutex<Streams>) -> MutexGuard<'_, Streams> {
    streams.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait::async_trait]
impl EventStore for Events {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<String, EventStoreError> {
        let mut streams = lock(&self.streams);
        let name = match streams.names.get(stream_id) {
            Some(name) => name.clone(),
            None => {
                // Random, because who knows the id of an event can read what follows it.
                let name = self.ids.next().to_string();
                streams.add(stream_id, name.clone());
                name
            }
        };
        let stream = streams.by_name.get_mut(&name).ok_or("the stream is gone")?;
        let number = *stream.last.borrow() + 1;
        let id = format!("{name}.{number}");
        let mut event = event.clone();
        event.event_id = Some(id.clone());
        stream.ended = matches!(
            event.message.as_deref(),
            Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
        );
        let bytes = size(&event);
        stream.events.push_back(Kept { number, bytes, event });
        let excess = stream.events.len().saturating_sub(KEPT_EVENTS);
        let dropped: usize = stream.events.drain(..excess).map(|kept| kept.bytes).sum();
        stream.last.send_replace(number);
        streams.bytes = (streams.bytes + bytes).saturating_sub(dropped);
        streams.limit_bytes(&name);
        Ok(id)
    }

    async fn replay_events_after(
        &self,
        last_event_id: &str,
    ) -> Result<EventStream, EventStoreError> {
        let unknown = || EventStoreError::from("there is no such event");
        let (name, number) = last_event_id.rsplit_once('.').ok_or_else(unknown)?;
        let number: u64 = number.parse().map_err(|_| unknown())?;
        let last = {
            let streams = lock(&self.streams);
            let stream = streams.by_name.get(name).ok_or_else(unknown)?;
            let first = stream.events.front().map_or(0, |kept| kept.number);
            // Events that were dropped cannot be replayed, and a gap must not look like a complete
            // answer.
            if number > *stream.last.borrow() || number + 1 < first {
                return Err(unknown());
            }
            stream.last.subscribe()
        };
        let reader = Reader { streams: self.streams.clone(), name: name.to_owned(), number, last };
        Ok(Box::pin(SyncStream(Mutex::new(Box::pin(stream::unfold(reader, |mut reader| async {
            let event = reader.next().await?;
            Some((event, reader))
        }))))))
    }
}

impl Streams {
    fn add(&mut self, stream_id: &str, name: String) {
        if self.order.len() >= KEPT_STREAMS {
            self.remove(0);
        }
        self.names.insert(stream_id.to_owned(), name.clone());
        self.order.push_back((stream_id.to_owned(), name.clone()));
        let last = watch::Sender::new(0);
        self.by_name.insert(name, Stream { events: VecDeque::new(), last, ended: false });
    }

    /// Gives up a stream: the oldest ones first, whose hosts have probably gone.
    fn remove(&mut self, at: usize) {
        let Some((id, name)) = self.order.remove(at) else { return };
        self.names.remove(&id);
        let events = self.by_name.remove(&name).map(|stream| stream.events).unwrap_or_default();
        let bytes: usize = events.iter().map(|kept| kept.bytes).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Gives up streams, and then events of the stream in use, until the rest is small enough.
    fn limit_bytes(&mut self, in_use: &str) {
        while self.bytes > KEPT_BYTES
            && let Some(at) = self.order.iter().position(|(_, name)| name != in_use)
        {
            self.remove(at);
        }
        let Some(stream) = self.by_name.get_mut(in_use) else { return };
        // The last event stays: a client that lost the connection waits for it.
        while self.bytes > KEPT_BYTES
            && stream.events.len() > 1
            && let Some(kept) = stream.events.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(kept.bytes);
        }
    }
}

/// Returns the size of an event as JSON.
fn size(event: &ServerSseMessage) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Fails for no message; then what was counted so far is the size.
    let _ = serde_json::to_writer(&mut counter, &event.message.as_deref());
    counter.0
}

/// Reads the events of a stream, and waits for those that follow.
struct Reader {
    streams: Arc<Mutex<Streams>>,
    name: String,
    /// The number of the last event that was read.
    number: u64,
    last: watch::Receiver<u64>,
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        loop {
            {
                let streams = lock(&self.streams);
                let stream = streams.by_name.get(&self.name)?;
                let next = stream.events.iter().find(|kept| kept.number > self.number);
                if let Some(kept) = next {
                    self.number = kept.number;
                    return Some(kept.event.clone());
                }
                if stream.ended {
                    return None;
                }
            }
            let number = self.number;
            self.last.wait_for(|last| *last > number).await.ok()?;
        }
    }
}

/// A stream that can be shared between threads, as the library demands. It is only ever polled by
/// one.
struct SyncStream(Mutex<futures::stream::BoxStream<'static, ServerSseMessage>>);

impl futures::Stream for SyncStream {
    type Item = ServerSseMessage;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let stream = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        stream.as_mut().poll_next(context)
    }
}

#[cfg(test)]
mod tests;
