//! What all servers of a session share.

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_exec::{Environment, Supervisor};
use serde_json::Value;

use super::form::Form;
use super::host::{HostChannel, HostInbox};
use super::sampling::Sampler;
use crate::oauth::TokenStore;
use crate::store::CatalogStore;

/// What all servers of a session share.
#[derive(Clone)]
pub struct McpClientOptions {
    /// Starts the programs and ends them with this process.
    pub supervisor: Supervisor,
    /// The working folder of programs, and the first root.
    pub cwd: PathBuf,
    /// Further folders that belong to the workspace.
    pub roots: Vec<PathBuf>,
    /// The environment of programs; the configuration of a server adds to it.
    pub environment: Environment,
    /// The approved tools; none approves all tools and remembers none.
    pub catalogs: Option<CatalogStore>,
    /// The tokens of logins; none sends no tokens.
    pub tokens: Option<TokenStore>,
    /// Reaches the servers in the host program; none if there is no host.
    pub host: Option<Arc<dyn HostChannel>>,
    /// Receives what servers in the host program send by themselves.
    pub host_inbox: HostInbox,
    /// Answers questions of servers; none declines them.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Lets servers use the model of the user, those whose configuration allows it; none refuses.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Receives messages for the user: failures of servers, and changes that need approval.
    pub on_notice: Arc<dyn Fn(String) + Send + Sync>,
    /// Stores images of results outside of a call.
    pub blobs: Option<Arc<dyn Blobs>>,
}

impl McpClientOptions {
    /// Creates options for a working folder, with nothing that is optional.
    pub fn new(supervisor: Supervisor, cwd: impl Into<PathBuf>) -> Self {
        Self {
            supervisor,
            cwd: cwd.into(),
            roots: Vec::new(),
            environment: Environment::new(),
            catalogs: None,
            tokens: None,
            host: None,
            host_inbox: HostInbox::default(),
            elicitor: None,
            sampler: None,
            on_notice: Arc::new(|_| {}),
            blobs: None,
        }
    }

    pub(crate) fn notice(&self, text: String) {
        (self.on_notice)(text);
    }
}

/// Asks the user a question of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The name of the server in the configuration.
    pub server: String,
    /// The question, without hidden characters and at most 4 KB.
    pub message: String,
    /// What the server wants from the user.
    pub kind: ElicitationKind,
}

/// What a server asks the user for.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// The user is asked to fill in a form; the server gets the values.
    Form {
        /// The form that the terminal shows, read from `schema` and checked.
        form: Form,
        /// The schema of the form, for clients that show it themselves.
        schema: Value,
    },
    /// The user is asked to open an address; the server gets only the consent.
    Address {
        /// The address; `http` or `https` only.
        url: String,
        /// The id by which the server says later that the user is done there; none if it gave none.
        id: Option<String>,
    },
}

/// Answers a question of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitAnswer {
    /// The user agreed, with the content of the form. Fields without a value get their defaults.
    Accept(Value),
    /// The user refused; the server should not ask again.
    Decline,
    /// The user closed the question without an answer.
    Cancel,
}

/// Asks the user for a server.
#[async_trait::async_trait]
pub trait Elicitor: Send + Sync {
    /// Asks and returns the answer. It may wait for the user as long as it needs.
    async fn ask(&self, question: Elicitation) -> ElicitAnswer;

    /// Returns whether it can ask the user to open an address. It is part of the client's capabilities.
    fn shows_addresses(&self) -> bool {
        true
    }
}
