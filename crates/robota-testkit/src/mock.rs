//! A mock model server on loopback: four wires on one port, with answers and failures from a
//! [`Scenario`], and a record of all requests. `docs/mock-model.md` describes the scenario file.
//!
//! | wire | path |
//! |---|---|
//! | Anthropic Messages | `POST /v1/messages`, `/v1/messages/count_tokens` |
//! | OpenAI Chat Completions | `POST /v1/chat/completions` |
//! | OpenAI Responses | `POST /v1/responses`, `/v1/responses/input_tokens` |
//! | Gemini | `POST /v1beta/models/M:streamGenerateContent`, `:generateContent`, `:countTokens` |
//! | lists | `GET /v1/models`, `/v1beta/models`, `/api/tags`, `/api/version` |
//!
//! It does not share code with the providers, so that a mistake in a provider cannot be repeated
//! here and stay hidden.
//!
//! ```
//! use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = Scenario::reply(Reply::new().tool("Read", json!({"file_path": "notes.txt"})))
//!     .then(Failure::status(529, "Overloaded"))
//!     .then(Reply::new().pieces(["They say ", "hello."]));
//! let same = Scenario::from_yaml("
//! - tools: [{tool: Read, input: {file_path: notes.txt}}]
//! - error: {status: 529, message: Overloaded}
//! - text: ['They say ', hello.]
//! ")?;
//! assert_eq!(scenario, same);
//!
//! let mock = MockServer::start(scenario).await?;
//! assert!(mock.origin().starts_with("http://127.0.0.1:"));
//! assert!(mock.received().is_empty(), "no request yet");
//! # Ok(())
//! # }
//! ```

#[expect(clippy::needless_pass_by_value, reason = "JSON built in place is passed by value")]
mod encode;
mod failure;
mod gates;
mod http;
mod lists;
mod quirk;
mod received;
mod scenario;
mod serve;
mod state;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

pub use failure::{Failure, FailureFormat};
pub use quirk::{Quirk, TextCalls};
pub use received::{ReceivedRequest, ResponseEnd};
pub use scenario::{
    Call, Expect, Reply, Scenario, ScenarioError, Search, Stall, Step, Tokens, When,
};
use state::State;
pub use wire::{Route, Wire};

/// A running mock server. It stops, with all its connections, when it is dropped.
pub struct MockServer {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl MockServer {
    /// Serves the scenario on a free port, as a task of this runtime.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(scenario: impl Into<Scenario>) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), scenario).await
    }

    /// Serves the scenario at a given address.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start_at(address: SocketAddr, scenario: impl Into<Scenario>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(scenario.into()));
        // One task for the whole server, which ends its connections when it is aborted.
        let accepting = tokio::spawn(accept(listener, state.clone()));
        Ok(Self { address, state, accepting })
    }

    /// Returns an address at which no server listens.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn refusing_origin() -> io::Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        // The listener is dropped here, so that nothing listens at its address.
        Ok(format!("http://{}", listener.local_addr()?))
    }

    /// Returns the scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL in the form that users of the wire's vendor write.
    #[must_use]
    pub fn base_url(&self, wire: Wire) -> String {
        wire.base_url(&self.origin())
    }

    /// Appends an answer to the scenario.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.state.push(reply.into());
    }

    /// Returns how many answers without a condition have not been used yet.
    #[must_use]
    pub fn unplayed(&self) -> usize {
        self.state.unplayed()
    }

    /// Opens a gate permanently.
    pub fn release(&self, gate: &str) {
        self.state.gates.release(gate);
    }

    /// Waits until an answer has reached that gate: everything before the gate has been sent.
    pub async fn reached(&self, gate: &str) {
        self.state.gates.reached(gate).await;
    }

    /// Returns every request so far, in order of arrival.
    #[must_use]
    pub fn received(&self) -> Vec<Arc<ReceivedRequest>> {
        self.state.received.borrow().clone()
    }

    /// Returns every model call so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Arc<ReceivedRequest>> {
        let received = self.state.received.borrow();
        received.iter().filter(|received| received.nth_call.is_some()).cloned().collect()
    }

    /// Waits for the n-th model call, counted from one.
    pub async fn call(&self, nth: usize) -> Arc<ReceivedRequest> {
        let mut all = self.state.received.subscribe();
        loop {
            let matched =
                all.borrow_and_update().iter().find(|one| one.nth_call == Some(nth)).cloned();
            if let Some(matched) = matched {
                return matched;
            }
            // Cannot fail: `self` owns the sender.
            if all.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns how many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl std::fmt::Debug for MockServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockServer").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // Dropping the set ends its tasks together with this one.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that the client gave up before it was accepted is no reason to stop.
                let Ok((socket, _)) = accepted else { continue };
                let number = state.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve::connection(state.clone(), socket, number));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
