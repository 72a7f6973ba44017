//! The program as people run it, against a model on loopback: what it costs, beside its budget.
//!
//! Nothing is asserted: a time says much about the machine. The journal is on, with the defaults
//! of `robota -p`, and every number is a median.

mod listener;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::median;
use crate::sh::{self, Running, Spent};
use listener::Listener;

/// Words the model says in the long answer.
const DELTAS: usize = 20_000;
/// Rounds of one tool call each.
const ROUNDS: usize = 50;
/// Rounds of the session that is come back to.
const LONG: usize = 200;
/// What it is called.
const LONG_SESSION: &str = "agent:bench/session:long";
/// What it is asked.
const ASK: [&str; 6] = ["-p", "Go on.", "--provider", "anthropic", "--model", "mock-model"];
/// The program that counts its allocations, beside the other.
const COUNTED: &str = "robota-counted";
/// Enough for a median that does not jump, of what is quick and of what is not.
const QUICK: usize = 41;
const SLOW: usize = 5;

/// A folder with a project, a home and the programs.
struct Place {
    robota: String,
    /// The same, built so that it says how often it allocated.
    counted: Option<String>,
    mock: String,
    project: PathBuf,
    home: String,
}

/// Measures everything and prints one table.
pub(super) fn run(root: &Path, target: &Path) -> Result<()> {
    let built = target.join("release");
    let robota = ["cargo", "build", "--release", "--package", "robota-cli"];
    sh::run(root, &[&robota[..], &["--features", "count-allocations"]].concat())?;
    std::fs::copy(built.join("robota"), built.join(COUNTED))?;
    sh::run(root, &robota)?;
    let mock = ["--package", "robota-testkit", "--features", "mock", "--bin", "mock-model"];
    sh::run(root, &[&["cargo", "build", "--release"][..], &mock[..]].concat())?;
    measure(&built, target)
}

/// Measures the programs of a folder.
pub(super) fn measure(programs: &Path, target: &Path) -> Result<()> {
    let place = Place::new(&programs.canonicalize()?, &target.join("bench-program"))?;
    let mut table = Table::default();
    let binary = std::fs::metadata(&place.robota)?.len();
    table.row("binary", &mb(binary / 1024), "30 MB");
    let floor = sh::which("true").context("no `true` to compare with")?;
    let floor = floor.to_str().context("the path of `true` is no UTF-8")?;
    let (mut version, mut nothing) = (Vec::new(), Vec::new());
    // In turns, so that whatever else the machine does falls on both.
    for _ in 0..QUICK {
        version.push(place.robota(&["--version"], "")?);
        nothing.push(sh::measure(&place.project, &[floor], &[])?);
    }
    table.row("`--version`", &ms(middle(&version, |one| one.wall)), "4 ms");
    table.row("`true`, to compare", &ms(middle(&nothing, |one| one.wall)), "");
    table.row("`--version`, memory", &mb(peak(&version)), "12 MB");
    place.one_shot(&mut table)?;
    place.stream(&mut table)?;
    place.rounds(&mut table)?;
    print!("{}", table.text);
    Ok(())
}

impl Place {
    fn new(programs: &Path, scratch: &Path) -> Result<Self> {
        if scratch.exists() {
            std::fs::remove_dir_all(scratch)?;
        }
        let (project, home) = (scratch.join("project"), scratch.join("home"));
        std::fs::create_dir_all(&project)?;
        std::fs::create_dir_all(&home)?;
        let text = |path: PathBuf| {
            path.into_os_string().into_string().ok().context("the target folder's name is no UTF-8")
        };
        let counted = Some(programs.join(COUNTED)).filter(|program| program.is_file());
        Ok(Self {
            robota: text(programs.join("robota"))?,
            counted: counted.map(text).transpose()?,
            mock: text(programs.join("mock-model"))?,
            project,
            home: text(home)?,
        })
    }

    fn robota(&self, words: &[&str], model: &str) -> Result<Spent> {
        let words = [&[self.robota.as_str()][..], words].concat();
        sh::measure(&self.project, &words, &self.env(model))
    }

    fn env<'a>(&'a self, model: &'a str) -> [(&'a str, &'a str); 6] {
        [
            ("HOME", self.home.as_str()),
            ("XDG_CONFIG_HOME", self.home.as_str()),
            ("ANTHROPIC_BASE_URL", model),
            ("ANTHROPIC_API_KEY", "none"),
            ("NO_PROXY", "127.0.0.1"),
            // Heard only by the program that counts.
            ("ROBOTA_COUNT_ALLOCATIONS", "1"),
        ]
    }

    /// How often it allocates for an answer; none where the program that counts is not there.
    fn allocations(&self, model: &str) -> Result<Option<f64>> {
        let Some(counted) = &self.counted else { return Ok(None) };
        let told = sh::complaints(
            &self.project,
            &[&[counted.as_str()][..], &ASK].concat(),
            &self.env(model),
        )?;
        let count = told.lines().rev().find_map(|line| line.strip_prefix("allocations: "));
        let count = count.with_context(|| format!("{counted} did not count: {told}"))?;
        Ok(Some(count.trim().parse()?))
    }

    /// Runs it once for an answer; the session may have a name, or be one to go on with.
    fn ask(&self, model: &str, more: &[&str]) -> Result<Spent> {
        self.robota(&[&ASK[..], more].concat(), model)
    }

    fn answered(&self, model: &str, more: &[&str]) -> Result<Spent> {
        let spent = self.ask(model, more)?;
        ensure!(spent.success, "`robota -p` failed; look with: {} -p … {more:?}", self.robota);
        Ok(spent)
    }

    /// A model that plays these answers.
    fn model(&self, scenario: &str) -> Result<Running> {
        let file = self.project.with_file_name("scenario.yaml");
        std::fs::write(&file, scenario)?;
        let file = file.to_str().context("the target folder's name is no UTF-8")?;
        Running::start(&self.project, &[&self.mock, file])
    }

    fn one_shot(&self, table: &mut Table) -> Result<()> {
        let listener = Listener::start()?;
        let model = self.model("loop: true\nanswers: [Done.]\n")?;
        let (mut cold, mut whole, mut size) = (Vec::new(), Vec::new(), 0);
        for _ in 0..QUICK {
            listener.begin();
            self.ask(&listener.origin, &[])?;
            let first = listener.first().context("no request came")?;
            (size, _) = (first.bytes, cold.push(first.after));
            whole.push(self.answered(&model.first_line, &[])?);
        }
        let start = median(cold);
        table.row("start to first request", &ms(start), "20 ms");
        table.row("first request, in an empty project", &format!("{:.1} KB", kb(size)), "12 KB");
        table.row("one answer, whole", &ms(middle(&whole, |one| one.wall)), "");
        table.row("one answer, memory", &mb(peak(&whole)), "30 MB");

        // From here on the project has something to look at.
        std::fs::write(self.project.join("notes.txt"), "hello\n")?;
        let model = self.model(&calls(LONG))?;
        self.answered(
            &model.first_line,
            &["--session-id", LONG_SESSION, "--permission-mode", "plan"],
        )?;
        let (mut cold, mut again) = (Vec::new(), Vec::new());
        for _ in 0..QUICK {
            for (times, more) in [(&mut cold, &[][..]), (&mut again, &["-r", LONG_SESSION][..])] {
                listener.begin();
                self.ask(&listener.origin, more)?;
                times.push(listener.first().context("no request came")?.after);
            }
        }
        let over = median(again) - median(cold);
        table.row(&format!("resume of {LONG} rounds, over a cold start"), &ms(over), "+5 ms");
        Ok(())
    }

    fn stream(&self, table: &mut Table) -> Result<()> {
        let short = self.model("loop: true\nanswers: [Done.]\n")?;
        let long = self.model(&format!(
            "loop: true\nanswers: [{{steps: [{{text: \"word \", times: {DELTAS}}}]}}]\n"
        ))?;
        let (mut base, mut all) = (Vec::new(), Vec::new());
        for _ in 0..SLOW {
            base.push(self.answered(&short.first_line, &[])?);
            all.push(self.answered(&long.first_line, &[])?);
        }
        let whole = middle(&all, |one| one.cpu);
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let thousands = DELTAS as f64 / 1e3;
        let name = format!("{DELTAS} deltas: CPU per 1,000, the start included");
        table.row(&name, &ms(whole / thousands), "3 ms");
        let only = (whole - middle(&base, |one| one.cpu)) / thousands;
        table.row(&format!("{DELTAS} deltas: CPU per 1,000, alone"), &ms(only), "");
        table.row(&format!("{DELTAS} deltas: memory"), &mb(peak(&all)), "30 MB");
        let counts = self.allocations(&short.first_line)?.zip(self.allocations(&long.first_line)?);
        let Some((start, whole)) = counts else { return Ok(()) };
        let name = format!("{DELTAS} deltas: allocations per 1,000, the start included");
        table.row(&name, &format!("{:.0}", whole / thousands), "4000");
        let name = format!("{DELTAS} deltas: allocations per 1,000, alone");
        table.row(&name, &format!("{:.0}", (whole - start) / thousands), "");
        Ok(())
    }

    fn rounds(&self, table: &mut Table) -> Result<()> {
        let (mut base, mut all) = (Vec::new(), Vec::new());
        for _ in 0..SLOW {
            let short = self.model("- Done.\n")?;
            base.push(self.answered(&short.first_line, &[])?);
            let long = self.model(&calls(ROUNDS))?;
            all.push(self.answered(&long.first_line, &[])?);
        }
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let rounds = ROUNDS as f64;
        let wall = (middle(&all, |one| one.wall) - middle(&base, |one| one.wall)) / rounds;
        table.row(
            &format!("{ROUNDS} tool rounds: per round, the model included"),
            &ms(wall),
            "3 ms",
        );
        let cpu = (middle(&all, |one| one.cpu) - middle(&base, |one| one.cpu)) / rounds;
        table.row(&format!("{ROUNDS} tool rounds: CPU per round"), &ms(cpu), "");
        table.row(&format!("{ROUNDS} tool rounds: memory"), &mb(peak(&all)), "30 MB");
        Ok(())
    }
}

/// So many looks into a file, and an answer.
fn calls(count: usize) -> String {
    let call = "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n";
    format!("{}- Done.\n", call.repeat(count))
}

#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, name: &str, found: &str, budget: &str) {
        let _ = writeln!(self.text, "{name:<60} {found:>12} {budget:>10}");
    }
}

fn middle(all: &[Spent], what: impl Fn(&Spent) -> Duration) -> f64 {
    median(all.iter().map(what).collect())
}

fn peak(all: &[Spent]) -> u64 {
    all.iter().map(|one| one.peak_kib).max().unwrap_or(0)
}

fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn mb(kib: u64) -> String {
    format!("{:.1} MB", kb(kib))
}
