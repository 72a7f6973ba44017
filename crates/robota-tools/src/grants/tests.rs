//! A link changes between the judgement and the call, or all the time: no tool returns or changes a
//! file outside of the workspace.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use robota_core::permission::Mode;
use robota_core::tool::{Tool, ToolContext, ToolOutcome};
use robota_exec::{Environment, OsPaths, Supervisor};
use robota_policy::{Policy, PolicySpec, Workspace};
use rustix::fs::{CWD, FileType, RenameFlags, mknodat, renameat_with};
use serde_json::json;

use super::*;
use crate::{Edit, Glob, Grep, MultiEdit, PolicyCheckedTool, Read, ToolWorkspace, Write};

const SECRET: &str = "outside-content";

/// A workspace with `real/f` and `link -> real`, and a folder outside of it with the same names.
struct World {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    tools: ToolWorkspace,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir_all(inside.join("real")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("real/f"), "inside-content\n").unwrap();
        std::fs::write(outside.join("f"), format!("{SECRET}\n")).unwrap();
        std::fs::write(outside.join("secret-name"), "x\n").unwrap();
        symlink("real", inside.join("link")).unwrap();
        let tools = ToolWorkspace::new(&inside, Supervisor::new(), Environment::new());
        Self { _dir: dir, inside, outside, tools }
    }

    /// Makes `link` lead outside.
    fn redirect_link(&self) {
        std::fs::remove_file(self.inside.join("link")).unwrap();
        symlink(&self.outside, self.inside.join("link")).unwrap();
    }

    /// Replaces the folder `real` by a link that leads outside.
    fn replace_folder(&self) {
        std::fs::rename(self.inside.join("real"), self.inside.join("moved")).unwrap();
        symlink(&self.outside, self.inside.join("real")).unwrap();
    }

    fn assert_outside_unchanged(&self) {
        let content = std::fs::read_to_string(self.outside.join("f")).unwrap();
        assert_eq!(content, format!("{SECRET}\n"));
        assert_eq!(self.outside.read_dir().unwrap().count(), 2);
    }

    /// Returns the calls of all file tools below a folder. Existing files count as read.
    fn calls(&self, folder: &str) -> Vec<(Arc<dyn Tool>, Value)> {
        let file = self.inside.join("real/f");
        let stamp = crate::file::read_window(&file, crate::file::Range::default()).unwrap().stamp;
        self.tools.log.record(&file, stamp);
        self.tools.log.record(&self.outside.join("f"), stamp);
        let f = format!("{folder}/f");
        let edit = json!({"file_path": f, "old_string": "content", "new_string": "CHANGED"});
        vec![
            (Arc::new(Read::new(&self.tools)), json!({"file_path": f})),
            (Arc::new(Grep::new(&self.tools)), grep(folder)),
            (Arc::new(Grep::new(&self.tools)), grep(&f)),
            (Arc::new(Glob::new(&self.tools)), json!({"pattern": "*", "path": folder})),
            (Arc::new(Glob::new(&self.tools)), json!({"pattern": format!("{folder}/*")})),
            (Arc::new(Write::new(&self.tools)), json!({"file_path": f, "content": "CHANGED"})),
            (
                Arc::new(Write::new(&self.tools)),
                json!({"file_path": format!("{folder}/new/file"), "content": "CHANGED"}),
            ),
            (Arc::new(Edit::new(&self.tools)), edit.clone()),
            (Arc::new(MultiEdit::new(&self.tools)), json!({"edits": [edit]})),
        ]
    }
}

fn grep(path: &str) -> Value {
    json!({"pattern": "content", "path": path, "output_mode": "content"})
}

fn context(call: &CallId) -> ToolContext {
    ToolContext { call: call.clone(), ..ToolContext::detached() }
}

fn assert_harmless(outcome: &ToolOutcome, input: &Value) {
    let text = outcome.text();
    assert!(!text.contains(SECRET) && !text.contains("secret-name"), "{input}: {text}");
}

#[tokio::test]
async fn a_link_that_changes_after_the_judgement_has_no_effect() {
    for folder in ["link", "real"] {
        for number in 0..World::new().calls(folder).len() {
            let world = World::new();
            let (tool, input) = world.calls(folder).swap_remove(number);
            let call = CallId::from("c1");
            let judged = tool.gate_input(&call, &input).unwrap();
            match folder {
                "link" => world.redirect_link(),
                _ => world.replace_folder(),
            }
            let outcome = tool.run(input.clone(), context(&call)).await;
            assert_harmless(&outcome, &input);
            world.assert_outside_unchanged();
            // A changed link does not matter: the call uses the file that was judged.
            assert!(folder == "real" || outcome.ok, "{input}: {}", outcome.text());
            if folder == "link" {
                let real = world.inside.join("real");
                assert!(judged.to_string().contains(real.to_str().unwrap()), "{judged}");
            }
        }
    }
}

#[tokio::test]
async fn a_path_that_could_not_be_resolved_when_it_was_judged_is_not_opened() {
    let world = World::new();
    let link = world.inside.join("loop");
    symlink("loop", &link).unwrap();
    let (read, call) = (Read::new(&world.tools), CallId::from("c1"));
    let input = json!({"file_path": "loop"});
    read.gate_input(&call, &input).unwrap();
    std::fs::remove_file(&link).unwrap();
    symlink(world.outside.join("f"), &link).unwrap();
    let outcome = read.run(input, context(&call)).await;
    assert_eq!(outcome.error_code.as_deref(), Some("redirected"));
}

#[tokio::test]
async fn pipes_and_devices_are_refused_and_never_block() {
    let world = World::new();
    let pipe = world.inside.join("real/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).unwrap();
    symlink("/dev/zero", world.inside.join("real/zero")).unwrap();
    for name in ["real/pipe", "real/zero", "/dev/zero"] {
        let tools: [(Arc<dyn Tool>, Value); 4] = [
            (Arc::new(Read::new(&world.tools)), json!({"file_path": name})),
            (Arc::new(Grep::new(&world.tools)), grep(name)),
            (Arc::new(Write::new(&world.tools)), json!({"file_path": name, "content": "x"})),
            (
                Arc::new(Edit::new(&world.tools)),
                json!({"file_path": name, "old_string": "a", "new_string": "b"}),
            ),
        ];
        for (tool, input) in tools {
            let outcome = tool.run(input.clone(), ToolContext::detached()).await;
            assert!(!outcome.ok || outcome.text() == "[no match]\n", "{input}: {}", outcome.text());
        }
    }
}

/// A thread swaps a link, or a folder and a link, all the time. The calls are judged by a policy.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_leaves_the_workspace_while_links_are_swapped() {
    const ROUNDS: usize = 60;
    for folder in ["link", "real"] {
        let world = World::new();
        let path = world.inside.join(folder);
        let other = world.inside.join("other");
        symlink(&world.outside, &other).unwrap();
        let done = AtomicBool::new(false);
        let calls = world.calls("real");
        let calls: Vec<_> = calls
            .into_iter()
            .map(|(tool, input)| {
                let input = input.to_string().replace("real", folder);
                (tool, serde_json::from_str::<Value>(&input).unwrap())
            })
            .collect();
        let swap = || {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &path, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        };
        let spec = PolicySpec::new(Workspace::new(&world.inside, "/nonexistent"));
        let spec = spec.mode(Mode::AcceptEdits);
        let policy = Arc::new(Policy::new(&spec, &OsPaths).0);
        std::thread::scope(|scope| {
            scope.spawn(swap);
            let runtime = tokio::runtime::Handle::current();
            let stop = StopOnDrop(&done);
            tokio::task::block_in_place(|| {
                runtime.block_on(async {
                    for round in 0..ROUNDS {
                        for (number, (tool, input)) in calls.iter().enumerate() {
                            let call = CallId::from(format!("{round}.{number}"));
                            let policy = Arc::clone(&policy);
                            let checked =
                                PolicyCheckedTool::new(tool.clone(), policy, Arc::new(OsPaths));
                            let outcome = checked.run(input.clone(), context(&call)).await;
                            assert_harmless(&outcome, input);
                        }
                    }
                });
            });
            drop(stop);
        });
        world.assert_outside_unchanged();
    }
}

/// Ends the other thread also if the test panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
