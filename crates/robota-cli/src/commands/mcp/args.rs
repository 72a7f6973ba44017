//! The arguments of `robota mcp`.

use clap::{Args, Subcommand, ValueEnum};
use robota_config::McpScope;

use crate::args::{McpServeArgs, PlaceArgs};

/// `robota mcp`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// The subcommands of `robota mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server: `robota mcp add NAME -- COMMAND ARG…` or `robota mcp add -t http NAME URL`.
    Add(AddArgs),
    /// Add a server from JSON.
    AddJson(AddJsonArgs),
    /// Approve the tools that a server has now.
    Approve(ApproveArgs),
    /// Connect to a server and show its configuration and tools.
    Get(GetArgs),
    /// List the configured servers, without starting them.
    List(ListArgs),
    /// Log in to a server that needs it.
    Login(LoginArgs),
    /// Forget the login to a server.
    Logout(NameArgs),
    /// Remove a server.
    Remove(RemoveArgs),
    /// Serve the built-in tools and the agent to an MCP host.
    Serve(Box<McpServeArgs>),
    /// Connect to servers and report whether they answer.
    Test(TestArgs),
}

/// Where a server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// For this folder, in the user's own file.
    Local,
    /// For everyone who uses this folder, in .mcp.json.
    Project,
    /// For all folders of the user.
    User,
}

impl From<ScopeArg> for McpScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Local => Self::Local,
            ScopeArg::Project => Self::Project,
            ScopeArg::User => Self::User,
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    /// A program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
}

/// `robota mcp add`
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// Command of a program, or address.
    #[arg(value_name = "COMMAND|URL")]
    pub(crate) target: String,

    /// Arguments of the program; write `--` before the command if they start with a dash.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,

    /// How the server is reached.
    #[arg(short, long, value_enum, default_value_t = TransportArg::Stdio)]
    pub(crate) transport: TransportArg,

    /// Where the server is configured.
    #[arg(short, long, value_enum, default_value_t = ScopeArg::Local)]
    pub(crate) scope: ScopeArg,

    /// Variable of the program's environment (repeatable).
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// Header of every request (repeatable).
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp add-json`
#[derive(Debug, Args)]
pub(crate) struct AddJsonArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// The entry, e.g. `{"type": "http", "url": "https://…"}`.
    pub(crate) json: String,

    /// Where the server is configured.
    #[arg(short, long, value_enum, default_value_t = ScopeArg::Local)]
    pub(crate) scope: ScopeArg,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp approve`
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// Approve only exactly what `robota mcp get` showed with this hash.
    #[arg(long)]
    pub(crate) hash: Option<String>,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// The name of a server.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Name of the server.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp get`
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp login`
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// Read the address to which the browser was redirected from standard input, for a browser on
    /// another machine.
    #[arg(long)]
    pub(crate) paste: bool,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp remove`
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the server.
    pub(crate) name: String,

    /// Where it is configured [default: the first of local, project, user that has it].
    #[arg(short, long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota mcp test`
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Names of servers [default: all].
    pub(crate) names: Vec<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}
