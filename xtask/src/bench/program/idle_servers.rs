//! What MCP servers cost that are configured and not used.

use anyhow::{Result, ensure};

use super::listener::Listener;
use super::{ASK, Place, QUICK, Report, Unit, median};

/// How many servers are configured.
const SERVERS: usize = 20;

impl Place {
    /// Compares the time to the first request with many known servers and with none, in turns.
    pub(super) fn idle_servers(&self, report: &mut Report) -> Result<()> {
        let started = self.project.with_file_name("started");
        let server = self.project.with_file_name("server.py");
        std::fs::write(&server, PROGRAM)?;
        for number in 0..SERVERS {
            let entry = serde_json::json!({
                "command": "python3",
                "args": [server, started, number.to_string()],
            });
            let (name, entry) = (format!("server{number}"), entry.to_string());
            let added = self.robota(&["mcp", "add-json", "-s", "user", &name, &entry], "")?;
            ensure!(added.success, "`robota mcp add-json` failed");
        }
        // The tools of a server are known once it was connected.
        ensure!(self.robota(&["mcp", "test"], "")?.success, "`robota mcp test` failed");
        std::fs::remove_file(&started)?;
        // Servers that never answer, so that their tools are never known.
        let unknown = (0..SERVERS).map(|number| {
            let entry = serde_json::json!({"command": "sleep", "args": ["1000"]});
            (format!("unknown{number}"), entry)
        });
        let unknown: serde_json::Map<_, _> = unknown.collect();
        let unknown = serde_json::json!({"mcpServers": unknown}).to_string();
        let listener = Listener::start()?;
        let none = [&ASK[..], &["--strict-mcp-config"]].concat();
        let given = [&none[..], &["--mcp-config", &unknown]].concat();
        let (mut without, mut with, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..QUICK {
            without.push(listener.first(|origin| self.robota(&none, origin))?.0);
            with.push(listener.first(|origin| self.robota(&ASK, origin))?.0);
            new.push(listener.first(|origin| self.robota(&given, origin))?.0);
        }
        ensure!(!started.exists(), "a server was started although its tools are known");
        let over = |times: &[_]| median(times) - median(&without);
        let name = format!("first request with {SERVERS} idle MCP servers, over none");
        report.row(&name, Unit::Milliseconds, over(&with), Some(2.0));
        let name = format!("the same, {SERVERS} servers that never answer");
        report.row(&name, Unit::Milliseconds, over(&new), Some(2.0));
        Ok(())
    }
}

/// A server with one tool. It adds a line to a file when it starts.
const PROGRAM: &str = r#"
import json, sys
open(sys.argv[1], "a").write(sys.argv[2] + "\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "bench", "version": "1"}},
        "tools/list": {"tools": [{"name": "echo", "description": "Returns its text",
                                  "inputSchema": {"type": "object"}}]},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
