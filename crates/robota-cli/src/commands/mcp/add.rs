//! `robota mcp add`: adds a server.

use robota_config::{McpScope, Places, add_server};
use robota_mcp::config::ServerConfig;
use serde_json::{Map, Value, json};

use super::args::{AddArgs, TransportArg};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// Adds a server.
pub(super) fn run(args: &AddArgs) -> anyhow::Result<Exit> {
    let entry = match args.transport {
        TransportArg::Stdio => {
            if !args.header.is_empty() {
                return Err(Usage("--header needs --transport http or sse".to_owned()).into());
            }
            // It would be started as a program at every start, and fail.
            if args.target.starts_with("http://") || args.target.starts_with("https://") {
                let text = "for an address add --transport http or --transport sse";
                return Err(Usage(text.to_owned()).into());
            }
            let env = pairs(&args.env, '=', "--env NAME=VALUE")?;
            json!({"type": "stdio", "command": args.target, "args": args.args, "env": env})
        }
        TransportArg::Http | TransportArg::Sse => {
            if !args.env.is_empty() || !args.args.is_empty() {
                return Err(Usage("an address takes neither --env nor arguments".to_owned()).into());
            }
            let headers = pairs(&args.header, ':', "--header \"NAME: VALUE\"")?;
            let kind = if args.transport == TransportArg::Http { "http" } else { "sse" };
            json!({"type": kind, "url": args.target, "headers": headers})
        }
    };
    let Value::Object(entry) = entry else { return Ok(Exit::Failure) };
    let setup = Setup::load(&args.settings, None)?;
    write(&setup.places, args.scope.into(), &args.name, entry)
}

/// Checks an entry and writes it.
pub(super) fn write(
    places: &Places,
    scope: McpScope,
    name: &str,
    entry: Map<String, Value>,
) -> anyhow::Result<Exit> {
    // Dots and spaces are allowed for servers that Claude Code has under such names.
    let valid = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    if name.trim().is_empty() || !name.chars().all(valid) {
        let text = format!("the name `{name}` may only have letters, digits, `-`, `_` and `.`");
        return Err(Usage(text).into());
    }
    // Every variable counts as set: the entry is for other processes too, whose variables are not
    // known here.
    ServerConfig::parse(name, &entry, &|_| Some("x".to_owned()))
        .map_err(|error| Usage(format!("the entry cannot be used: {error}")))?;
    let file = add_server(places, scope, name, entry)?;
    output::line(&format!("Added the MCP server {name} to {}.", file.display()));
    if scope == McpScope::Project {
        output::line("Servers of a folder run only if it is trusted: robota trust");
    }
    Ok(Exit::Ok)
}

fn pairs(given: &[String], separator: char, form: &str) -> Result<Map<String, Value>, Usage> {
    let mut pairs = Map::new();
    for text in given {
        let Some((name, value)) = text.split_once(separator) else {
            return Err(Usage(format!("`{text}` is not valid; write {form}")));
        };
        // Spaces around the value of a header are not part of it; those of a variable are.
        let value = if separator == ':' { value.trim() } else { value };
        pairs.insert(name.trim().to_owned(), json!(value));
    }
    Ok(pairs)
}
