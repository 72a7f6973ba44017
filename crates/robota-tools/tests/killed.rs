//! The process is killed while it writes a file: the file has the old or the new content, never a mix.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Write as _};

use robota_exec::{CommandSpec, Environment, Exit, ShellCommand, Supervisor};
use robota_tools::file::{Replacement, ResolvedPath, commit, plan_edit, plan_write};
use tokio_util::sync::CancellationToken;

const SIZE: usize = 300_000;

fn content(letter: &str) -> String {
    format!("{}\n", letter.repeat(SIZE))
}

async fn run(spec: CommandSpec) -> Exit {
    Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap().exit
}

fn bash(command: &str, dir: &std::path::Path) -> CommandSpec {
    let env = Environment::new().with("PATH", "/usr/bin:/bin");
    ShellCommand::new(command, dir).env(env).into_spec().unwrap()
}

#[tokio::test]
async fn tool_02_killed_at_any_point_a_file_is_old_or_new() {
    // Killed after this many changes, at an arbitrary point of the next one.
    for rounds in [1, 2, 3, 5, 8, 13, 21, 34] {
        let dir = tempfile::tempdir().unwrap();
        assert!(run(bash("mkfifo pipe", dir.path())).await.is_success());
        std::fs::write(dir.path().join("f"), content("a")).unwrap();
        let copy = CommandSpec::new(std::env::current_exe().unwrap(), dir.path()).args([
            "--exact",
            "helper_that_is_killed",
            "--ignored",
        ]);
        let path = dir.path().to_owned();
        let (exit, ()) = tokio::join!(run(copy), async move {
            // The pipe stays open until the kill: without a reader the copy would end too early.
            let line = tokio::task::spawn_blocking(move || {
                let pipe = BufReader::new(std::fs::File::open(path.join("pipe")).unwrap());
                let mut lines = pipe.lines();
                (lines.nth(rounds).unwrap().unwrap(), lines)
            });
            let (pid, _pipe) = line.await.unwrap();
            let kill = format!("kill -KILL {pid}");
            assert!(run(bash(&kill, "/".as_ref())).await.is_success());
        });
        assert_eq!(exit, Exit::Signal(9));
        let found = std::fs::read_to_string(dir.path().join("f")).unwrap();
        assert!(found == content("a") || found == content("b"), "{} bytes", found.len());
    }
}

#[test]
#[ignore = "started by the test that kills it"]
fn helper_that_is_killed() {
    let Ok(mut pipe) = std::fs::OpenOptions::new().write(true).open("pipe") else { return };
    let path = std::path::Path::new("f");
    let at = ResolvedPath::new(path.canonicalize().unwrap()).unwrap();
    loop {
        writeln!(pipe, "{}", std::process::id()).unwrap();
        let old = std::fs::read(path).unwrap();
        let metadata = path.metadata().unwrap();
        let (now, next) = if old[0] == b'a' { ("a", "b") } else { ("b", "a") };
        let seen = robota_tools::file::FileStamp::of(&old, &metadata);
        let planned = plan_write(&at, &content(next), Some(&seen)).unwrap();
        commit(&[planned]).unwrap();
        writeln!(pipe, "{}", std::process::id()).unwrap();
        let (old, new) = (content(next), content(now));
        let replacement = Replacement { old: &old, new: &new, all: false };
        let (planned, _) = plan_edit(&at, &[replacement], None).unwrap();
        commit(&[planned]).unwrap();
    }
}
