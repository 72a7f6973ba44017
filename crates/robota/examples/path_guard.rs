//! Hooks in code: a guard that keeps writes inside a folder, and one that trims long results.

#![allow(clippy::print_stdout, reason = "an example prints")]

use robota::core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision, PreToolDecision,
};
use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{InteractiveSession, ModelSetup, Project, ProjectOptions, ToolEnd};
use robota::{Mode, ToolOutcome, async_trait};
use serde_json::json;

/// The longest result that the model sees, in characters.
const LONGEST: usize = 20;

struct Guard;

#[async_trait]
impl Hooks for Guard {
    fn has_point(&self, point: HookPoint) -> bool {
        matches!(point, HookPoint::PreToolUse | HookPoint::PostToolUse)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::PreToolUse { tool_use, .. } => {
                let path = tool_use.input.json().and_then(|it| it.get("file_path")?.as_str());
                let outside =
                    tool_use.name == "Write" && path.is_some_and(|path| !path.starts_with("out/"));
                HookAnswer::PreToolUse(if outside {
                    PreToolDecision::Deny { reason: "write below out/ only".to_owned() }
                } else {
                    PreToolDecision::Continue
                })
                .into()
            }
            HookInput::PostToolUse { outcome, .. } if outcome.text().len() > LONGEST => {
                let short: String = outcome.text().chars().take(LONGEST).collect();
                let outcome = ToolOutcome { ok: outcome.ok, ..ToolOutcome::ok(short + " ...") };
                HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }).into()
            }
            _ => HookAnswer::PostToolUse(PostToolDecision::Continue).into(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("out"))?;
    let options = ProjectOptions {
        cwd: Some(folder.path().to_owned()),
        mode: Some(Mode::AcceptEdits),
        ..ProjectOptions::default()
    };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let provider = ScriptedProvider::new(
        Script::new()
            .tool("Write", json!({"file_path": "secret.txt", "content": "x"}))
            .tool("Write", json!({"file_path": "out/a.txt", "content": "x"}))
            .text("Done."),
    );
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .hooks(Guard)
            .open()
            .await?;
    let result = session.submit("Write two files.").await?.result().await?;
    for tool in &result.tools {
        println!("{} {:?}", tool.first_argument, tool.end);
    }
    assert_eq!(result.tools[0].end, Some(ToolEnd::Denied));
    assert!(!folder.path().join("secret.txt").exists() && folder.path().join("out/a.txt").exists());
    Ok(session.shutdown("done").await?)
}
