//! Measures the program as users run it, against a model on loopback, and prints the budget with
//! each number. The journal is on, with the defaults of `robota -p`; times are medians.

mod idle_servers;
mod listener;

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Programs;
use crate::sh::{self, Running, Spent};
use listener::Listener;

/// The chunks of the long answer.
const DELTAS: usize = 20_000;
/// Rounds of one tool call each.
const ROUNDS: usize = 50;
/// Rounds of the session that is resumed.
const LONG: usize = 200;
const LONG_SESSION: &str = "agent:bench/session:long";
const ASK: [&str; 6] = ["-p", "Go on.", "--provider", "anthropic", "--model", "mock-model"];
const STREAM_JSON: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// The program that counts its allocations.
const COUNTED: &str = "robota-counted";
/// Repetitions of fast and of slow measurements.
const QUICK: usize = 41;
const SLOW: usize = 5;
const SHORT_ANSWER: &str = "loop: true\nanswers: [Done.]\n";

/// The programs, and a project and a home folder for them.
pub(crate) struct Place {
    pub(crate) robota: String,
    /// The same program, built so that it prints how often it allocated.
    counted: Option<String>,
    mock: String,
    pub(crate) project: PathBuf,
    home: String,
}

const BUILD: [&str; 5] = ["cargo", "build", "--release", "--package", "robota-cli"];

/// Builds the programs, and the one that counts its allocations. Returns their folder.
pub(super) fn build_counted(root: &Path, target: &Path) -> Result<PathBuf> {
    sh::run(root, &[&BUILD[..], &["--features", "count-allocations"]].concat(), &[])?;
    let built = target.join("release");
    std::fs::copy(built.join("robota"), built.join(COUNTED))?;
    build(root, target)
}

/// Builds the program and the model, and returns their folder.
pub(super) fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    sh::run(root, &BUILD, &[])?;
    let mock = ["--package", "robota-testkit", "--features", "mock", "--bin", "mock-model"];
    sh::run(root, &[&BUILD[..3], &mock[..]].concat(), &[])?;
    Ok(target.join("release"))
}

/// Measures the programs of a folder.
pub(super) fn measure(programs: &Programs) -> Result<()> {
    let place = Place::new(&programs.folder, &programs.target.join("bench-program"))?;
    row("binary", &mb(std::fs::metadata(&place.robota)?.len() / 1024), "30 MB");
    let version = (0..QUICK).map(|_| place.robota(&["--version"], ""));
    let version = version.collect::<Result<Vec<_>>>()?;
    row("`--version`", &ms(wall(&version)), "4 ms");
    row("`--version`, memory", &mb(peak(&version)), "12 MB");
    place.one_shot()?;
    place.resume()?;
    place.stream()?;
    place.rounds()?;
    // The last, because the servers stay configured.
    place.idle_servers()
}

impl Place {
    pub(crate) fn new(programs: &Path, scratch: &Path) -> Result<Self> {
        if scratch.exists() {
            std::fs::remove_dir_all(scratch)?;
        }
        let (project, home) = (scratch.join("project"), scratch.join("home"));
        std::fs::create_dir_all(&project)?;
        std::fs::create_dir_all(&home)?;
        let counted = Some(programs.join(COUNTED)).filter(|program| program.is_file());
        Ok(Self {
            robota: text(programs.join("robota"))?,
            counted: counted.map(text).transpose()?,
            mock: text(programs.join("mock-model"))?,
            project,
            home: text(home)?,
        })
    }

    /// Returns the home folder.
    pub(crate) fn home(&self) -> &Path {
        Path::new(&self.home)
    }

    pub(crate) fn env<'a>(&'a self, model: &'a str) -> [(&'a str, &'a str); 6] {
        [
            ("HOME", self.home.as_str()),
            ("XDG_CONFIG_HOME", self.home.as_str()),
            ("ANTHROPIC_BASE_URL", model),
            ("ANTHROPIC_API_KEY", "none"),
            ("NO_PROXY", "127.0.0.1"),
            // Only the program that counts reads it.
            ("ROBOTA_COUNT_ALLOCATIONS", "1"),
        ]
    }

    fn robota(&self, words: &[&str], model: &str) -> Result<Spent> {
        let words = [&[self.robota.as_str()][..], words].concat();
        sh::measure(&self.project, &words, &self.env(model))
    }

    /// Runs the program with a prompt until it has answered.
    fn answer(&self, model: &Running, more: &[&str]) -> Result<Spent> {
        let spent = self.robota(&[&ASK[..], more].concat(), &model.first_line)?;
        ensure!(spent.success, "`robota -p` failed; try: {} -p … {more:?}", self.robota);
        Ok(spent)
    }

    /// Imports the transcript of another agent.
    pub(super) fn import(&self, file: &str, session: &str) -> Result<()> {
        let words = ["sessions", "import", file, "--from", "claude", "--id", session];
        let spent = self.robota(&words, "")?;
        ensure!(spent.success, "`{} {}` failed", self.robota, words.join(" "));
        Ok(())
    }

    /// Returns the allocations of one answer; none without the program that counts.
    fn allocations(&self, model: &Running) -> Result<Option<f64>> {
        let Some(counted) = &self.counted else { return Ok(None) };
        let words = [&[counted.as_str()][..], &ASK].concat();
        let printed = sh::read(&self.project, &words, &self.env(&model.first_line))?.1;
        let count = printed.lines().rev().find_map(|line| line.strip_prefix("allocations: "));
        let count = count.with_context(|| format!("{counted} printed no count: {printed}"))?;
        Ok(Some(count.trim().parse()?))
    }

    /// Starts a model that plays these answers.
    pub(crate) fn model(&self, scenario: &str) -> Result<Running> {
        let file = self.project.with_file_name("scenario.yaml");
        std::fs::write(&file, scenario)?;
        Running::start(&self.project, &[&self.mock, &text(file)?])
    }

    fn one_shot(&self) -> Result<()> {
        let (listener, model) = (Listener::start()?, self.model(SHORT_ANSWER)?);
        let (mut cold, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..QUICK {
            let after = listener.first(|origin| self.robota(&ASK, origin))?;
            bytes = after.1;
            cold.push(after.0);
            whole.push(self.answer(&model, &[])?);
        }
        row("start to first request", &ms(median(cold)), "20 ms");
        row("first request, in an empty project", &format!("{:.1} KB", kb(bytes)), "12 KB");
        row("one answer, whole", &ms(wall(&whole)), "");
        row("one answer, memory", &mb(peak(&whole)), "30 MB");
        row("one answer, memory that it wrote", &mb(self.private_memory()?), "5 MB");
        Ok(())
    }

    /// Returns the memory that the program wrote to until its first request. The peak counts pages of
    /// the program's file too, which the system maps in blocks, used or not: it follows the size of the
    /// file.
    fn private_memory(&self) -> Result<u64> {
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", port.local_addr()?);
        let words = [&[self.robota.as_str()][..], &ASK, &STREAM_JSON].concat();
        let program = Running::start_with(&self.project, &words, &self.env(&origin))?;
        let (mut request, _) = port.accept()?;
        ensure!(request.read(&mut [0; 1024])? > 0, "no request arrived");
        program.private_kib()
    }

    fn resume(&self) -> Result<()> {
        std::fs::write(self.project.join("notes.txt"), "hello\n")?;
        let (listener, model) = (Listener::start()?, self.model(&calls(LONG))?);
        let plan = ["--session-id", LONG_SESSION, "--permission-mode", "plan"];
        self.answer(&model, &plan)?;
        let resume = [&ASK[..], &["-r", LONG_SESSION]].concat();
        let (mut cold, mut again) = (Vec::new(), Vec::new());
        for _ in 0..QUICK {
            cold.push(listener.first(|origin| self.robota(&ASK, origin))?.0);
            again.push(listener.first(|origin| self.robota(&resume, origin))?.0);
        }
        let name = format!("resume of {LONG} rounds, over a cold start");
        row(&name, &ms(median(again) - median(cold)), "+5 ms");
        Ok(())
    }

    fn answers(&self, scenario: &str) -> Result<Vec<Spent>> {
        (0..SLOW).map(|_| self.answer(&self.model(scenario)?, &[])).collect()
    }

    fn stream(&self) -> Result<()> {
        let long =
            format!("loop: true\nanswers: [{{steps: [{{text: \"word \", times: {DELTAS}}}]}}]\n");
        let (base, all) = (self.answers(SHORT_ANSWER)?, self.answers(&long)?);
        let per_thousand = |value: f64| value * 1e3 / count(DELTAS);
        let name = |what: &str| format!("{DELTAS} deltas: {what}");
        row(&name("CPU per 1,000, the start included"), &ms(per_thousand(cpu(&all))), "3 ms");
        let alone = per_thousand(cpu(&all) - cpu(&base));
        row(&name("CPU per 1,000, alone"), &ms(alone), "");
        row(&name("memory"), &mb(peak(&all)), "30 MB");
        let ratio = self.partial_messages(&long)?;
        let what = "CPU of stream-json with partial messages, of that of events";
        row(&name(what), &format!("{ratio:.2}x"), "1.5x");
        let (short, long) = (self.model(SHORT_ANSWER)?, self.model(&long)?);
        if let Some((start, whole)) = self.allocations(&short)?.zip(self.allocations(&long)?) {
            let shown = |value: f64| format!("{:.0}", per_thousand(value));
            row(&name("allocations per 1,000, the start included"), &shown(whole), "4000");
            row(&name("allocations per 1,000, alone"), &shown(whole - start), "");
        }
        Ok(())
    }

    /// Returns the CPU time of `stream-json` with partial messages by that of `events`.
    fn partial_messages(&self, scenario: &str) -> Result<f64> {
        let model = self.model(scenario)?;
        let partial = [&STREAM_JSON[..], &["--include-partial-messages"]].concat();
        let (mut lines, mut events) = (Vec::new(), Vec::new());
        for _ in 0..SLOW {
            lines.push(self.answer(&model, &partial)?);
            events.push(self.answer(&model, &["--output-format", "events"])?);
        }
        Ok(cpu(&lines) / cpu(&events))
    }

    fn rounds(&self) -> Result<()> {
        let (base, all) = (self.answers("- Done.\n")?, self.answers(&calls(ROUNDS))?);
        let name = |what: &str| format!("{ROUNDS} tool rounds: {what}");
        let per_round = ms((wall(&all) - wall(&base)) / count(ROUNDS));
        row(&name("per round, the model included"), &per_round, "3 ms");
        row(&name("memory"), &mb(peak(&all)), "30 MB");
        Ok(())
    }
}

/// Returns a scenario with this many reads of a file, and an answer.
fn calls(count: usize) -> String {
    let call = "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n";
    format!("{}- Done.\n", call.repeat(count))
}

fn row(name: &str, measured: &str, budget: &str) {
    println!("{name:<60} {measured:>12} {budget:>10}");
}

fn text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().ok().context("a path that is not UTF-8")
}

/// Returns the median, in seconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

fn wall(all: &[Spent]) -> f64 {
    median(all.iter().map(|one| one.wall).collect())
}

fn cpu(all: &[Spent]) -> f64 {
    median(all.iter().map(|one| one.cpu).collect())
}

fn peak(all: &[Spent]) -> u64 {
    all.iter().map(|one| one.peak_kib).max().unwrap_or(0)
}

fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

fn mb(kib: u64) -> String {
    format!("{:.1} MB", kb(kib))
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn count(count: usize) -> f64 {
    count as f64
}
