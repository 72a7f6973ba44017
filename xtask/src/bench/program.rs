//! Measures the program as users run it, against a model on loopback, and prints the budget with
//! each number. The journal is on, with the defaults of `robota -p`; times are medians.

mod idle_servers;
mod listener;

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Programs;
use super::report::{Report, Unit, median};
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
    let mut report = Report::begin()?;
    let size = std::fs::metadata(&place.robota)?.len() / 1024;
    report.row("binary", Unit::Megabytes, by_1024(size), Some(30.0));
    let version = (0..QUICK).map(|_| place.robota(&["--version"], ""));
    let version = version.collect::<Result<Vec<_>>>()?;
    report.row("`--version`", Unit::Milliseconds, wall(&version), Some(4.0));
    report.row("`--version`, memory", Unit::Megabytes, peak(&version), Some(12.0));
    place.one_shot(&mut report)?;
    place.resume(&mut report)?;
    place.stream(&mut report)?;
    place.rounds(&mut report)?;
    // The last, because the servers stay configured.
    place.idle_servers(&mut report)?;
    report.end();
    Ok(())
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
        Running::start(&self.project, &[&self.mock, &text(file)?], &[])
    }

    fn one_shot(&self, report: &mut Report) -> Result<()> {
        let (listener, model) = (Listener::start()?, self.model(SHORT_ANSWER)?);
        let (mut cold, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..QUICK {
            let after = listener.first(|origin| self.robota(&ASK, origin))?;
            bytes = after.1;
            cold.push(after.0);
            whole.push(self.answer(&model, &[])?);
        }
        report.row("start to first request", Unit::Milliseconds, median(&cold), Some(20.0));
        let name = "first request, in an empty project";
        report.row(name, Unit::Kilobytes, by_1024(bytes), Some(12.0));
        report.row("one answer, whole", Unit::Milliseconds, wall(&whole), None);
        report.row("one answer, memory", Unit::Megabytes, peak(&whole), Some(30.0));
        let written = by_1024(self.private_memory()?);
        report.row("one answer, memory that it wrote", Unit::Megabytes, written, Some(5.0));
        Ok(())
    }

    /// Returns the memory that the program wrote to until its first request. The peak counts pages of
    /// the program's file too, which the system maps in blocks, used or not: it follows the size of the
    /// file.
    fn private_memory(&self) -> Result<u64> {
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", port.local_addr()?);
        let words = [&[self.robota.as_str()][..], &ASK, &STREAM_JSON].concat();
        let program = Running::start(&self.project, &words, &self.env(&origin))?;
        let (mut request, _) = port.accept()?;
        ensure!(request.read(&mut [0; 1024])? > 0, "no request arrived");
        program.private_kib()
    }

    fn resume(&self, report: &mut Report) -> Result<()> {
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
        report.row(&name, Unit::Milliseconds, median(&again) - median(&cold), Some(5.0));
        Ok(())
    }

    fn answers(&self, scenario: &str) -> Result<Vec<Spent>> {
        (0..SLOW).map(|_| self.answer(&self.model(scenario)?, &[])).collect()
    }

    fn stream(&self, report: &mut Report) -> Result<()> {
        let long =
            format!("loop: true\nanswers: [{{steps: [{{text: \"word \", times: {DELTAS}}}]}}]\n");
        let (base, all) = (self.answers(SHORT_ANSWER)?, self.answers(&long)?);
        let per_thousand = |value: f64| value * 1e3 / count(DELTAS);
        let name = |what: &str| format!("{DELTAS} deltas: {what}");
        let whole = per_thousand(cpu(&all));
        let with_start = name("CPU per 1,000, the start included");
        report.row(&with_start, Unit::Milliseconds, whole, Some(3.0));
        let alone = whole - per_thousand(cpu(&base));
        report.row(&name("CPU per 1,000, alone"), Unit::Milliseconds, alone, None);
        report.row(&name("memory"), Unit::Megabytes, peak(&all), Some(30.0));
        let partial = name("CPU of stream-json with partial messages, of events");
        report.row(&partial, Unit::Times, self.partial_messages(&long)?, Some(1.5));
        let (short, long) = (self.model(SHORT_ANSWER)?, self.model(&long)?);
        if let Some((start, whole)) = self.allocations(&short)?.zip(self.allocations(&long)?) {
            let with_start = name("allocations per 1,000, the start included");
            report.row(&with_start, Unit::Count, per_thousand(whole), Some(4000.0));
            let alone = per_thousand(whole - start);
            report.row(&name("allocations per 1,000, alone"), Unit::Count, alone, None);
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

    fn rounds(&self, report: &mut Report) -> Result<()> {
        let (base, all) = (self.answers("- Done.\n")?, self.answers(&calls(ROUNDS))?);
        let name = |what: &str| format!("{ROUNDS} tool rounds: {what}");
        let per_round = (wall(&all) - wall(&base)) / count(ROUNDS);
        let with_model = name("per round, the model included");
        report.row(&with_model, Unit::Milliseconds, per_round, Some(3.0));
        report.row(&name("memory"), Unit::Megabytes, peak(&all), Some(30.0));
        Ok(())
    }
}

/// Returns a scenario with this many reads of a file, and an answer.
fn calls(count: usize) -> String {
    let call = "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n";
    format!("{}- Done.\n", call.repeat(count))
}

fn text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().ok().context("a path that is not UTF-8")
}

fn wall(all: &[Spent]) -> f64 {
    median(&all.iter().map(|one| one.wall).collect::<Vec<_>>())
}

fn cpu(all: &[Spent]) -> f64 {
    median(&all.iter().map(|one| one.cpu).collect::<Vec<_>>())
}

/// Returns the largest peak, in MB.
fn peak(all: &[Spent]) -> f64 {
    by_1024(all.iter().map(|one| one.peak_kib).max().unwrap_or(0))
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn by_1024(size: u64) -> f64 {
    size as f64 / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn count(count: usize) -> f64 {
    count as f64
}
