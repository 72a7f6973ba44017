//! Failures of connections to servers.

use std::time::Duration;

use serde_json::Value;

use crate::text::clean_line;

/// Why a server could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The server did not start, or the connection was refused.
    #[error("the MCP server `{server}` cannot be reached: {problem}")]
    Connect {
        /// The key of the server in `mcpServers`, or the name that was asked for if there is no
        /// such server.
        server: String,
        /// What the program, the network or the caller reported, without secrets.
        problem: String,
    },
    /// The names of its tools would be those of another server.
    #[error(
        "the MCP server `{server}` is not used: its tools would have the same names as those of \
         `{other}`"
    )]
    SameToolNames {
        /// The server that is left out.
        server: String,
        /// The server that keeps the names.
        other: String,
    },
    /// The server requires a login.
    #[error("the MCP server `{server}` needs a login; run `robota mcp login {server}`")]
    NeedsLogin {
        /// The key of the server in `mcpServers`, which `robota mcp login` takes.
        server: String,
    },
    /// The rights of the login do not suffice.
    #[error(
        "the MCP server `{server}` requires more rights than the login has{}; run `robota mcp login \
         {server}`", scope.as_ref().map(|scope| format!(" ({scope})")).unwrap_or_default()
    )]
    NeedsRights {
        /// The key of the server, to log in again with more scopes.
        server: String,
        /// The scopes that it names; none if it names none.
        scope: Option<String>,
    },
    /// The server refused the `Authorization` header of its configuration. A login is not used while there
    /// is one.
    #[error(
        "the MCP server `{server}` refused the `Authorization` header of its configuration{}; correct \
         `headers` or `headersHelper`, or remove the header to use a login",
        scope.as_ref().map(|scope| format!(" (it requires {scope})")).unwrap_or_default()
    )]
    HeaderRefused {
        /// The key of the server, in whose entry the header is written.
        server: String,
        /// The scopes that it requires; none if it names none.
        scope: Option<String>,
    },
    /// The server has changed again since the user reviewed it. Nothing was approved.
    #[error(
        "the MCP server `{server}` is not as you reviewed it, so nothing was approved; review it again \
         with `robota mcp get {server}`"
    )]
    NotAsReviewed {
        /// The key of the server that the user reviewed.
        server: String,
    },
    /// The server answers only after the user has opened addresses, for instance to log in elsewhere.
    #[error(
        "the MCP server `{server}` requires that you open an address first: {message}{}",
        opened(questions)
    )]
    NeedsAddress {
        /// The key of the server that asks for the addresses.
        server: String,
        /// Its text, on one line and cut.
        message: String,
        /// What it asks for, as the parameters of `elicitation/create`.
        questions: Vec<Value>,
    },
    /// The server failed so often that calls do not start it until the failures are older than
    /// the period.
    #[error(
        "the MCP server `{server}` failed {times} times within {} minutes: {problem}; it is not \
         started again now", within.as_secs() / 60
    )]
    GaveUp {
        /// The key of the server that calls do not start now.
        server: String,
        /// How often it failed within the period.
        times: usize,
        /// The period in which failures are counted.
        within: Duration,
        /// The last failure, as the status of the server shows it.
        problem: String,
    },
    /// The server answered with an error.
    #[error("the MCP server `{server}` answered with error {code}: {message}")]
    Answer {
        /// The key of the server that sent the error.
        server: String,
        /// The JSON-RPC code of the error.
        code: i32,
        /// Its text, on one line and cut.
        message: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not answer within {} s", limit.as_secs())]
    TimedOut {
        /// The key of the server that was waited for.
        server: String,
        /// The limit that was reached: without progress, or in total.
        limit: Duration,
    },
    /// The connection ended while the server worked on a request.
    #[error("the connection to the MCP server `{server}` ended: {problem}")]
    Closed {
        /// The key of the server whose program ended or whose connection broke off.
        server: String,
        /// Why, as far as is known; for a program the end of its standard error.
        problem: String,
    },
    /// The session of the server is over; a new connection is needed. The request did not run.
    #[error("the session with the MCP server `{server}` has expired")]
    Expired {
        /// The key of the server to connect to again.
        server: String,
    },
    /// This side cancelled the request; the server may have worked on it.
    #[error("the request to the MCP server `{server}` was cancelled")]
    Cancelled {
        /// The key of the server that was asked to stop its work.
        server: String,
    },
    /// A prompt was used without an argument that it needs.
    #[error("/{command} needs the argument `{argument}`")]
    MissingArgument {
        /// The command of the prompt, without the slash.
        command: String,
        /// The first required argument that was not given.
        argument: String,
    },
    /// The server sent something that is not an answer to the request.
    #[error("the MCP server `{server}` sent an invalid answer: {problem}")]
    Invalid {
        /// The key of the server that does not keep to the protocol.
        server: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

/// Writes the addresses that a server asks to open.
fn opened(questions: &[Value]) -> String {
    let addresses = questions.iter().filter_map(|question| question.get("url")?.as_str());
    addresses.map(|address| format!(" {}", clean_line(address, 2_000))).collect()
}

impl McpError {
    /// Returns the error of a server whose configuration has its own `Authorization` header. A login would
    /// not be used, so it must not be asked for.
    pub(crate) fn with_own_header(self) -> Self {
        match self {
            Self::NeedsLogin { server } => Self::HeaderRefused { server, scope: None },
            Self::NeedsRights { server, scope } => Self::HeaderRefused { server, scope },
            other => other,
        }
    }

    /// Returns the code of a failed call.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect { .. } | Self::GaveUp { .. } | Self::SameToolNames { .. } => {
                "mcp_unreachable"
            }
            Self::NeedsLogin { .. } | Self::NeedsRights { .. } => "mcp_needs_login",
            Self::HeaderRefused { .. } => "mcp_header_refused",
            Self::NotAsReviewed { .. } => "mcp_not_as_reviewed",
            Self::NeedsAddress { .. } => "mcp_needs_address",
            Self::Answer { .. } => "mcp_error",
            Self::TimedOut { .. } => "timeout",
            Self::Closed { .. } => "mcp_closed",
            Self::Expired { .. } => "mcp_expired",
            Self::Cancelled { .. } => "cancelled",
            Self::Invalid { .. } => "mcp_invalid",
            Self::MissingArgument { .. } => "mcp_missing_argument",
        }
    }

    /// Returns whether the server may have worked on the request.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::Closed { .. } | Self::Cancelled { .. } => true,
            Self::Invalid { .. } => true,
            Self::Connect { .. }
            | Self::SameToolNames { .. }
            | Self::MissingArgument { .. }
            | Self::NeedsLogin { .. }
            | Self::NeedsRights { .. }
            | Self::HeaderRefused { .. }
            | Self::NotAsReviewed { .. }
            | Self::NeedsAddress { .. }
            | Self::GaveUp { .. }
            | Self::Answer { .. }
            | Self::Expired { .. } => false,
        }
    }
}
