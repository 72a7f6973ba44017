//! Runs the program with its own home folder and project.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::schema::check_output;

/// Returns the program: the one that cargo built, unless a benchmark names another.
pub(crate) fn program() -> String {
    let built = env!("CARGO_BIN_EXE_robota").to_owned();
    std::env::var("ROBOTA_BENCH_PROGRAM").unwrap_or(built)
}

/// A temporary folder with the folders `home` and `project`.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// Creates the folders in this folder, not in the system's folder for temporary files.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_folder(folder: &str) -> Self {
        Self::of(tempfile::tempdir_in(folder).unwrap())
    }

    fn of(dir: tempfile::TempDir) -> Self {
        std::fs::create_dir_all(dir.path().join("home/.robota")).unwrap();
        std::fs::create_dir_all(dir.path().join("project")).unwrap();
        Self(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file and creates its folders.
    pub(crate) fn write(&self, name: &str, content: impl Display) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
        self
    }

    /// Returns a command that runs the program in the project. Of the test's environment it has only
    /// `PATH`.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program without blocking, so that a server of the test can answer it.
    pub(crate) async fn robota(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap()
    }
}

/// Returns what the program printed; lines of the protocol among it are validated.
pub(crate) fn stdout(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    check_output(&text);
    text
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns every file below a folder that contains the text.
pub(crate) fn files_with(text: &str, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(text, &path));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path);
        }
    }
    found
}
