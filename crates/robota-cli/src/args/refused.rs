//! Options of other programs that this one refuses, and why. Hosts that were written for Claude Code
//! can pass them.

/// The options, with what to do instead.
pub(crate) const REFUSED: &[(&str, &str)] = &[
    ("--await-initialize", "plugins and MCP servers are options here: --plugin-dir, --mcp-config"),
    ("--bare", "use --setting-sources \"\" and --strict-mcp-config"),
    ("--bg", "there is no background service; use -p in a job of the shell"),
    ("--channels", "MCP servers cannot send prompts"),
    ("--managed-settings", "only the administrator's file has such settings; use --settings"),
    (
        "--managed-settings-in-initialize",
        "only the administrator's file has such settings; use --settings",
    ),
    (
        "--plugin-dir-no-mcp",
        "use --plugin-dir, and turn its MCP servers off with --strict-mcp-config",
    ),
    ("--project-config-root", "settings are those of the working folder; use --cwd"),
    ("--remote-control", "a session is reached through its own process only"),
    ("--resume-drops-turn", "--resume-session-at goes back to any message without this check"),
    ("--safe-mode", "use --setting-sources \"\" and --permission-mode plan"),
    ("--sdk-url", "a session is reached through its own process only"),
    ("--session-mirror", "a session is kept in its journal; `robota sessions export` writes it"),
    ("--task-budget", "use --budget tokens=N, which limits the tokens of the run"),
    ("--worktree", "create it with git worktree, and pass --cwd"),
];

/// Returns why an option is refused.
pub(crate) fn reason(option: &str) -> Option<&'static str> {
    // The Agent SDK for TypeScript writes a value behind `=`.
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, reason)| *reason)
}
