//! Keeps the HTTP session of a running call. The library ends a session in which nothing was said for five
//! minutes, and the calls of the session with it; a build or a question to a user can take longer.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::request::Parts;
use rmcp::model::Extensions;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// The interval of the signs of life.
const EVERY: Duration = Duration::from_secs(60);
/// How often a call shows signs of life: for a day. A call whose host is gone may never end.
const TIMES: u32 = 24 * 60;
/// No request has this number: the library counts from zero.
const NO_REQUEST: u64 = u64::MAX;

/// The sessions of hosts over HTTP; none for a host over streams, whose session does not end by itself.
#[derive(Clone, Default)]
pub(super) struct KeepAlive(Option<Arc<LocalSessionManager>>);

impl KeepAlive {
    pub(super) fn new(sessions: Arc<LocalSessionManager>) -> Self {
        Self(Some(sessions))
    }

    /// Runs the call of a request with these extensions, and keeps its session while the call `keeps` it.
    pub(super) async fn during<T>(
        &self,
        request: &Extensions,
        keeps: &AtomicBool,
        call: impl Future<Output = T>,
    ) -> T {
        let mut call = pin!(call);
        if let (Some(sessions), Some(session)) = (&self.0, session(request)) {
            // In parallel to the call, not between its steps: a host that does not read stops the
            // worker of its
            // session, which then answers no sign of life, and must not stop the call with it.
            tokio::select! {
                result = &mut call => return result,
                () = signs_of_life(sessions, session, keeps) => {}
            }
        }
        call.await
    }
}

/// Returns the session that a request belongs to; none without HTTP, and for newer hosts.
fn session(request: &Extensions) -> Option<&str> {
    request.get::<Parts>()?.headers.get(HEADER_SESSION_ID)?.to_str().ok()
}

/// Restarts the time of a session again and again, for a day.
async fn signs_of_life(sessions: &LocalSessionManager, session: &str, keeps: &AtomicBool) {
    for _ in 0..TIMES {
        tokio::time::sleep(EVERY).await;
        if keeps.load(Ordering::Relaxed) {
            touch(sessions, session).await;
        }
    }
}

/// Restarts the time after which a session ends.
async fn touch(sessions: &LocalSessionManager, session: &str) {
    let handle = sessions.sessions.read().await.get(session).cloned();
    if let Some(handle) = handle {
        // Every message to a session restarts the time; this one has no other effect. Fails if the session
        // has ended.
        let _ = handle.close_request_wise_channel(NO_REQUEST).await;
    }
}

#[cfg(test)]
mod tests;
