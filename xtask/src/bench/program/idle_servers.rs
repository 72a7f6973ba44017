//! What MCP servers cost that are configured and not used.

use anyhow::{Result, ensure};

use super::listener::Listener;
use super::{ASK, Milliseconds, Place, QUICK, Report, median};

/// How many servers are configured.
const SERVERS: usize = 20;

impl Place {
    /// Compares the time to the first request with many servers and with none.
    pub(super) fn idle_servers(&self, report: &mut Report) -> Result<()> {
        let started = self.project.with_file_name("started");
        let server = self.project.with_file_name("server.py");
        std::fs::write(&server, include_str!("server.py"))?;
        for number in 0..SERVERS {
            let entry = serde_json::json!({
                "command": "python3",
                "args": [server, started, number.to_string()],
            });
            let (name, entry) = (format!("server{number}"), entry.to_string());
            self.succeed(&["mcp", "add-json", "-s", "user", &name, &entry], "")?;
        }
        // The tools of a server are known once it was connected.
        self.succeed(&["mcp", "test"], "")?;
        std::fs::remove_file(&started)?;
        let name = format!("first request with {SERVERS} idle MCP servers, over none");
        report.row(name, Milliseconds, self.over_none()?, Some(2.0));
        ensure!(!started.exists(), "a server was started although its tools are known");
        // Servers that never answer, so that their tools are never known. They are configured like the
        // others: the first request waits for servers that `--mcp-config` names.
        let mute = serde_json::json!({"command": "sleep", "args": ["1000"]}).to_string();
        for number in 0..SERVERS {
            self.succeed(&["mcp", "add-json", "-s", "user", &format!("mute{number}"), &mute], "")?;
        }
        let name = format!("the same, and {SERVERS} servers that never answer");
        report.row(name, Milliseconds, self.over_none()?, Some(2.0));
        Ok(())
    }

    /// Returns how much later the first request is with the configured servers than without, in
    /// milliseconds; both are measured in turns.
    fn over_none(&self) -> Result<f64> {
        let listener = Listener::start()?;
        let none = [&ASK[..], &["--strict-mcp-config"]].concat();
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..QUICK {
            without.push(listener.first(|origin| self.robota(&none, origin))?.0);
            with.push(listener.first(|origin| self.robota(&ASK, origin))?.0);
        }
        Ok(median(&with) - median(&without))
    }
}
