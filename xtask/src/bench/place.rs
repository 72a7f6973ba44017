//! The programs that are measured, and where they run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::target_folder;
use crate::pty::Pty;
use crate::sh::{self, Running, Spent};

/// The arguments that choose the model.
pub(crate) const MODEL: [&str; 4] = ["--provider", "anthropic", "--model", "mock-model"];
/// A model that always gives the same short answer.
pub(super) const SHORT_ANSWER: &str = "loop: true\nanswers: [Done.]\n";

const BUILD: [&str; 5] = ["cargo", "build", "--release", "--package", "robota-cli"];
/// The program that counts its allocations.
const COUNTED: &str = "robota-counted";

/// Builds the program that counts its allocations.
pub(super) fn build_counted(root: &Path) -> Result<()> {
    sh::run(root, &[&BUILD[..], &["--features", "count-allocations"]].concat(), &[])?;
    let built = target_folder(root)?.join("release");
    std::fs::copy(built.join("robota"), built.join(COUNTED))?;
    Ok(())
}

/// Builds the program and the model.
fn build(root: &Path) -> Result<()> {
    sh::run(root, &BUILD, &[])?;
    let mock = ["--package", "robota-testkit", "--features", "mock", "--bin", "mock-model"];
    sh::run(root, &[&BUILD[..3], &mock[..]].concat(), &[])
}

/// The programs, and a project and a home folder for them.
pub(crate) struct Place {
    pub(crate) robota: String,
    /// The same program, built so that it prints how often it allocated.
    counted: Option<String>,
    mock: String,
    pub(crate) project: PathBuf,
    home: String,
}

impl Place {
    /// Takes the programs of a folder, or builds them. They run below `name` in cargo's target folder.
    pub(crate) fn prepare(root: &Path, built: Option<&Path>, name: &str) -> Result<Self> {
        let target = target_folder(root)?;
        let programs = match built {
            Some(folder) => folder.canonicalize()?,
            None => build(root).map(|()| target.join("release"))?,
        };
        let counted = Some(programs.join(COUNTED)).filter(|program| program.is_file());
        let place = Self {
            robota: text(programs.join("robota"))?,
            counted: counted.map(text).transpose()?,
            mock: text(programs.join("mock-model"))?,
            project: target.join(name).join("project"),
            home: text(target.join(name).join("home"))?,
        };
        place.clear()?;
        Ok(place)
    }

    /// Makes the folders empty.
    pub(crate) fn clear(&self) -> Result<()> {
        for folder in [self.project.as_path(), self.home()] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
        }
        Ok(())
    }

    /// Returns the home folder.
    pub(crate) fn home(&self) -> &Path {
        Path::new(&self.home)
    }

    pub(super) fn env<'a>(&'a self, model: &'a str) -> [(&'a str, &'a str); 8] {
        [
            ("HOME", self.home.as_str()),
            ("XDG_CONFIG_HOME", self.home.as_str()),
            ("ANTHROPIC_BASE_URL", model),
            ("ANTHROPIC_API_KEY", "none"),
            ("NO_PROXY", "127.0.0.1"),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            // Only the program that counts reads it.
            ("ROBOTA_COUNT_ALLOCATIONS", "1"),
        ]
    }

    /// Runs the program until its end.
    pub(super) fn robota(&self, words: &[&str], model: &str) -> Result<Spent> {
        let words = [&[self.robota.as_str()][..], words].concat();
        sh::measure(&self.project, &words, &self.env(model))
    }

    /// Runs the program until its end, which must be a success.
    pub(crate) fn succeed(&self, words: &[&str], model: &str) -> Result<Spent> {
        let spent = self.robota(words, model)?;
        ensure!(spent.success, "`{} {}` failed", self.robota, words.join(" "));
        Ok(spent)
    }

    /// Starts the program on a terminal.
    pub(crate) fn on_terminal(
        &self,
        model: &Running,
        more: &[&str],
        size: (u16, u16),
    ) -> Result<Pty> {
        let words = [&[self.robota.as_str()][..], &MODEL, more].concat();
        Pty::start(&self.project, &words, &self.env(&model.first_line), size)
    }

    /// Returns the allocations of a run; none without the program that counts.
    pub(super) fn allocations(&self, words: &[&str], model: &Running) -> Result<Option<f64>> {
        let Some(counted) = &self.counted else { return Ok(None) };
        let words = [&[counted.as_str()][..], words].concat();
        let printed = sh::read(&self.project, &words, &self.env(&model.first_line))?.1;
        let count = printed.lines().rev().find_map(|line| line.strip_prefix("allocations: "));
        let count = count.with_context(|| format!("{counted} printed no count: {printed}"))?;
        Ok(Some(count.trim().parse()?))
    }

    /// Starts a model that plays these answers.
    pub(crate) fn model(&self, scenario: &str) -> Result<Running> {
        let file = self.project.with_file_name("scenario.yaml");
        std::fs::write(&file, scenario)?;
        Running::start(&self.project, &[&self.mock, &text(file)?], &[])
    }
}

fn text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().ok().context("a path that is not UTF-8")
}
