//! Failures of connections to servers.

use std::time::Duration;

/// Why a server could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The server did not start, or the connection was refused.
    #[error("the MCP server `{server}` cannot be reached: {problem}")]
    Connect {
        /// The server.
        server: String,
        /// What happened.
        problem: String,
    },
    /// The names of its tools would be those of another server.
    #[error(
        "the MCP server `{server}` is not used: its tools would have the same names as those of \
         `{other}`"
    )]
    SameToolNames {
        /// The server.
        server: String,
        /// The other one.
        other: String,
    },
    /// The server requires a login.
    #[error("the MCP server `{server}` needs a login; run `robota mcp login {server}`")]
    NeedsLogin {
        /// The server.
        server: String,
    },
    /// The rights of the login do not suffice.
    #[error(
        "the MCP server `{server}` requires more rights than the login has{}; run `robota mcp login \
         {server}`", scope.as_ref().map(|scope| format!(" ({scope})")).unwrap_or_default()
    )]
    NeedsRights {
        /// The server.
        server: String,
        /// The scopes that it names.
        scope: Option<String>,
    },
    /// The server failed too often.
    #[error(
        "the MCP server `{server}` failed {times} times within {} minutes: {problem}; it is not \
         started again now", within.as_secs() / 60
    )]
    GaveUp {
        /// The server.
        server: String,
        /// How often it failed.
        times: usize,
        /// The period.
        within: Duration,
        /// The last failure.
        problem: String,
    },
    /// The server answered with an error.
    #[error("the MCP server `{server}` answered with error {code}: {message}")]
    Answer {
        /// The server.
        server: String,
        /// The code of the error.
        code: i32,
        /// Its text.
        message: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not answer within {} s", limit.as_secs())]
    TimedOut {
        /// The server.
        server: String,
        /// The time limit.
        limit: Duration,
    },
    /// The connection ended while the server worked on a request.
    #[error("the connection to the MCP server `{server}` ended: {problem}")]
    Closed {
        /// The server.
        server: String,
        /// Why.
        problem: String,
    },
    /// The session of the server is over; a new connection is needed. The request did not run.
    #[error("the session with the MCP server `{server}` has expired")]
    Expired {
        /// The server.
        server: String,
    },
    /// The request was cancelled.
    #[error("the request to the MCP server `{server}` was cancelled")]
    Cancelled {
        /// The server.
        server: String,
    },
    /// A prompt was used without an argument that it needs.
    #[error("/{command} needs the argument `{argument}`")]
    MissingArgument {
        /// The command of the prompt.
        command: String,
        /// The argument.
        argument: String,
    },
    /// The server sent something that is not an answer to the request.
    #[error("the MCP server `{server}` sent an invalid answer: {problem}")]
    Invalid {
        /// The server.
        server: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl McpError {
    /// Returns the code of a failed call.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect { .. } | Self::GaveUp { .. } | Self::SameToolNames { .. } => {
                "mcp_unreachable"
            }
            Self::NeedsLogin { .. } | Self::NeedsRights { .. } => "mcp_needs_login",
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
            | Self::GaveUp { .. }
            | Self::Answer { .. }
            | Self::Expired { .. } => false,
        }
    }
}
