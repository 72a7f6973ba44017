//! Hooks in code: a guard that keeps changes of files inside a folder, and one that trims long results.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::{Path, PathBuf};

use robota::core::hook::{
    HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision, PreToolDecision,
};
use robota::core::message::ToolUse;
use robota::exec::OsPaths;
use robota::scripted::{Script, ScriptedProvider};
use robota::sdk::{InteractiveSession, ModelSetup, Project, ProjectOptions, ToolEnd};
use robota::{Mode, ToolOutcome, async_trait};
use serde_json::{Value, json};

/// The longest result that the model sees, in characters.
const LONGEST: usize = 20;

/// The tools that change files.
const WRITERS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

struct Guard {
    /// The working folder, at which relative paths start.
    cwd: PathBuf,
}

impl Guard {
    /// Returns whether a call changes a file that is not below `out`.
    fn leaves_folder(&self, mut call: ToolUse) -> bool {
        // A relative path can leave the folder again: `out/../secret.txt`.
        call.make_paths_absolute(&self.cwd, Some(&OsPaths));
        let input = call.input.json().unwrap_or(&Value::Null);
        let edits = input["edits"].as_array().map_or(&[][..], Vec::as_slice);
        let files = std::iter::once(input).chain(edits);
        let mut paths = files.filter_map(|it| it.get("file_path").or(it.get("notebook_path")));
        let out = self.cwd.join("out");
        let outside =
            |path: &Value| !path.as_str().is_some_and(|it| Path::new(it).starts_with(&out));
        WRITERS.contains(&call.name.as_str()) && paths.any(outside)
    }
}

#[async_trait]
impl Hooks for Guard {
    fn has_point(&self, point: HookPoint) -> bool {
        matches!(point, HookPoint::PreToolUse | HookPoint::PostToolUse)
    }

    async fn run(&self, input: HookInput) -> HookReply {
        match input {
            HookInput::PreToolUse { tool_use, .. } => {
                HookAnswer::PreToolUse(if self.leaves_folder(tool_use) {
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
    std::fs::write(folder.path().join("notes.txt"), "a")?;
    let options = ProjectOptions {
        cwd: Some(folder.path().to_owned()),
        mode: Some(Mode::AcceptEdits),
        ..ProjectOptions::default()
    };
    // A real model: let provider = robota::connect("anthropic/claude-sonnet-5-5", key)?;
    let provider = ScriptedProvider::new(
        Script::new()
            .tool("Write", json!({"file_path": "secret.txt", "content": "x"}))
            .tool("Write", json!({"file_path": "out/../secret.txt", "content": "x"}))
            .tool("Read", json!({"file_path": "notes.txt"}))
            .tool("Edit", json!({"file_path": "notes.txt", "old_string": "a", "new_string": "b"}))
            .tool("Write", json!({"file_path": "out/a.txt", "content": "x"}))
            .text("Done."),
    );
    let session =
        InteractiveSession::builder(Project::load(options)?, ModelSetup::new(provider, "scripted"))
            .hooks(Guard { cwd: folder.path().to_owned() })
            .open()
            .await?;
    let result = session.submit("Write some files.").await?.result().await?;
    for tool in &result.tools {
        println!("{} {:?}", tool.first_argument, tool.end);
    }
    let ends: Vec<_> = result.tools.iter().map(|tool| tool.end).collect();
    let (denied, done) = (Some(ToolEnd::Denied), Some(ToolEnd::Success));
    assert_eq!(ends, [denied, denied, done, denied, done]);
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt"))?, "a");
    assert!(!folder.path().join("secret.txt").exists() && folder.path().join("out/a.txt").exists());
    Ok(session.shutdown("done").await?)
}
