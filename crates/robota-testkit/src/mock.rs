//! A model's service on loopback: four wires on one port, every answer and every failure as a
//! [`Scenario`] says, and a record of what it was sent. `docs/mock-model.md` describes the file.
//!
//! | wire | address |
//! |---|---|
//! | Anthropic Messages | `POST /v1/messages`, `/v1/messages/count_tokens` |
//! | OpenAI Chat Completions | `POST /v1/chat/completions` |
//! | OpenAI Responses | `POST /v1/responses`, `/v1/responses/input_tokens` |
//! | Gemini | `POST /v1beta/models/M:streamGenerateContent`, `:generateContent`, `:countTokens` |
//! | lists | `GET /v1/models`, `/v1beta/models`, `/api/tags`, `/api/version` |
//!
//! Its encoders are its own: a mistake in an adapter cannot be repeated here and so be hidden.
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
//! assert!(mock.received().is_empty(), "nobody has called it yet");
//! # Ok(())
//! # }
//! ```

#[expect(clippy::needless_pass_by_value, reason = "JSON made on the spot is given, not lent")]
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

pub use failure::{Failure, Looks};
pub use quirk::{Quirk, TextCalls};
pub use received::{Ended, Received};
pub use scenario::{
    Call, Expect, Reply, Scenario, ScenarioError, Search, Stall, Step, Tokens, When,
};
use state::State;
pub use wire::{Route, Wire};

/// A running mock. It ends, with all its connections, when this is dropped.
pub struct MockServer {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl MockServer {
    /// Serves the scenario at a port that is free, as a task of this runtime.
    ///
    /// # Errors
    /// When there is no port to listen at.
    pub async fn start(scenario: impl Into<Scenario>) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), scenario).await
    }

    /// The same at a given address.
    ///
    /// # Errors
    /// When that address cannot be listened at.
    pub async fn start_at(address: SocketAddr, scenario: impl Into<Scenario>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::new(scenario.into()));
        let accepting = tokio::spawn(accept(listener, state.clone()));
        Ok(Self { address, state, accepting })
    }

    /// An address at which nobody listens.
    ///
    /// # Errors
    /// When there is no port at all.
    pub async fn refusing_origin() -> io::Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(format!("http://{}", listener.local_addr()?))
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base address as users of that wire's vendor write it.
    #[must_use]
    pub fn base_url(&self, wire: Wire) -> String {
        wire.base_url(&self.origin())
    }

    /// One more answer at the end of the scenario.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.state.push(reply.into());
    }

    /// How many answers without a condition nobody has asked for.
    #[must_use]
    pub fn unplayed(&self) -> usize {
        self.state.unplayed()
    }

    /// Opens a gate, now and from now on.
    pub fn release(&self, gate: &str) {
        self.state.gates.release(gate);
    }

    /// Waits until an answer has come to that gate: all before it is sent.
    pub async fn reached(&self, gate: &str) {
        self.state.gates.reached(gate).await;
    }

    /// Every request so far, in the order in which they came.
    #[must_use]
    pub fn received(&self) -> Vec<Arc<Received>> {
        self.state.received.borrow().clone()
    }

    /// Every model call so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Arc<Received>> {
        let received = self.state.received.borrow();
        received.iter().filter(|received| received.nth_call.is_some()).cloned().collect()
    }

    /// Waits for the n-th model call, from one.
    pub async fn call(&self, nth: usize) -> Arc<Received> {
        let mut all = self.state.received.subscribe();
        loop {
            let found =
                all.borrow_and_update().iter().find(|one| one.nth_call == Some(nth)).cloned();
            if let Some(found) = found {
                return found;
            }
            // The sender lives as long as this borrows the state.
            if all.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// How many connections were accepted.
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
    // Ends its tasks with this one.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { continue };
                let number = state.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve::connection(state.clone(), socket, number));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
