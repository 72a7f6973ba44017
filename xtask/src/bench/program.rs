//! Measures the program as users run it, against a model on loopback, and prints the budget with
//! each number. The journal is on, with the defaults of `robota -p`; times are medians.

mod idle_servers;
mod listener;

use std::io::Read as _;
use std::net::TcpListener;

use anyhow::{Result, ensure};

use super::report::Unit::{Count, Kilobytes, Megabytes, Milliseconds, Times};
use super::report::{Report, median};
use super::{Place, SHORT_ANSWER, Scenario};
use crate::sh::{Running, Spent};
use listener::Listener;

/// The chunks of the long answer.
const DELTAS: u32 = 20_000;
/// Rounds of one tool call each.
const ROUNDS: u32 = 50;
/// Rounds of the session that is resumed.
const LONG: u32 = 200;
const LONG_SESSION: &str = "agent:bench/session:long";
const ASK: [&str; 6] = ["-p", "Go on.", "--provider", "anthropic", "--model", "mock-model"];
const STREAM_JSON: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// Repetitions of fast and of slow measurements.
const QUICK: usize = 41;
const SLOW: usize = 5;

/// What is measured, in this order: the servers of the last one stay configured.
pub(super) const SCENARIOS: &[Scenario] = &[
    ("version", Place::version),
    ("answer", Place::one_shot),
    ("resume", Place::resume),
    ("stream", Place::stream),
    ("rounds", Place::rounds),
    ("idle-servers", Place::idle_servers),
];

impl Place {
    fn version(&self, report: &mut Report) -> Result<()> {
        let size = std::fs::metadata(&self.robota)?.len() / 1024;
        report.row("binary", Megabytes, by_1024(size), Some(30.0));
        let version = (0..QUICK).map(|_| self.robota(&["--version"], ""));
        let version = version.collect::<Result<Vec<_>>>()?;
        report.row("`--version`", Milliseconds, wall(&version), Some(4.0));
        report.row("`--version`, memory", Megabytes, peak(&version), Some(12.0));
        Ok(())
    }

    /// Runs the program with a prompt until it has answered.
    fn answer(&self, model: &Running, more: &[&str]) -> Result<Spent> {
        self.succeed(&[&ASK[..], more].concat(), &model.first_line)
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
        report.row("start to first request", Milliseconds, median(&cold), Some(20.0));
        let name = "first request, in an empty project";
        report.row(name, Kilobytes, by_1024(bytes), Some(12.0));
        report.row("one answer, whole", Milliseconds, wall(&whole), None);
        report.row("one answer, memory", Megabytes, peak(&whole), Some(30.0));
        let written = by_1024(self.private_memory()?);
        report.row("one answer, memory that it wrote", Megabytes, written, Some(5.0));
        Ok(())
    }

    /// Returns the memory that the program wrote to until its first request and shares with no other:
    /// heap, stacks and relocated data. The peak counts pages of the program's file too, which the system
    /// maps in blocks, used or not: it follows the size of the file.
    fn private_memory(&self) -> Result<u64> {
        let port = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", port.local_addr()?);
        let words = [&[self.robota.as_str()][..], &ASK, &STREAM_JSON].concat();
        let program = Running::start(&self.project, &words, &self.env(&origin))?;
        let (mut request, _) = port.accept()?;
        ensure!(request.read(&mut [0; 1024])? > 0, "no request arrived");
        program.memory_kib("smaps_rollup", "Private_Dirty")
    }

    fn resume(&self, report: &mut Report) -> Result<()> {
        let (listener, model) = (Listener::start()?, self.model(&self.calls(LONG)?)?);
        self.answer(&model, &["--session-id", LONG_SESSION, "--permission-mode", "plan"])?;
        let resume = [&ASK[..], &["-r", LONG_SESSION]].concat();
        let (mut cold, mut again) = (Vec::new(), Vec::new());
        for _ in 0..QUICK {
            cold.push(listener.first(|origin| self.robota(&ASK, origin))?.0);
            again.push(listener.first(|origin| self.robota(&resume, origin))?.0);
        }
        let name = format!("resume of {LONG} rounds, over a cold start");
        report.row(name, Milliseconds, median(&again) - median(&cold), Some(2.0));
        Ok(())
    }

    fn answers(&self, scenario: &str) -> Result<Vec<Spent>> {
        (0..SLOW).map(|_| self.answer(&self.model(scenario)?, &[])).collect()
    }

    fn stream(&self, report: &mut Report) -> Result<()> {
        let long =
            format!("loop: true\nanswers: [{{steps: [{{text: \"word \", times: {DELTAS}}}]}}]\n");
        let (base, all) = (self.answers(SHORT_ANSWER)?, self.answers(&long)?);
        let per_thousand = |value: f64| value * 1e3 / f64::from(DELTAS);
        let name = |what: &str| format!("{DELTAS} deltas: {what}");
        let whole = per_thousand(cpu(&all));
        report.row(name("CPU per 1,000, the start included"), Milliseconds, whole, Some(3.0));
        let alone = whole - per_thousand(cpu(&base));
        report.row(name("CPU per 1,000, alone"), Milliseconds, alone, None);
        report.row(name("memory"), Megabytes, peak(&all), Some(30.0));
        let (short, long) = (self.model(SHORT_ANSWER)?, self.model(&long)?);
        let partial = name("CPU of stream-json with partial messages, of events");
        report.row(partial, Times, self.partial_messages(&long)?, Some(1.5));
        let counts = self.allocations(&ASK, &short)?.zip(self.allocations(&ASK, &long)?);
        if let Some((start, whole)) = counts {
            let with_start = name("allocations per 1,000, the start included");
            report.row(with_start, Count, per_thousand(whole), Some(4000.0));
            let alone = per_thousand(whole - start);
            report.row(name("allocations per 1,000, alone"), Count, alone, None);
        }
        Ok(())
    }

    /// Returns the CPU time of `stream-json` with partial messages by that of `events`.
    fn partial_messages(&self, model: &Running) -> Result<f64> {
        let partial = [&STREAM_JSON[..], &["--include-partial-messages"]].concat();
        let (mut lines, mut events) = (Vec::new(), Vec::new());
        for _ in 0..SLOW {
            lines.push(self.answer(model, &partial)?);
            events.push(self.answer(model, &["--output-format", "events"])?);
        }
        Ok(cpu(&lines) / cpu(&events))
    }

    fn rounds(&self, report: &mut Report) -> Result<()> {
        let (base, all) = (self.answers("- Done.\n")?, self.answers(&self.calls(ROUNDS)?)?);
        let name = |what: &str| format!("{ROUNDS} tool rounds: {what}");
        let per_round = (wall(&all) - wall(&base)) / f64::from(ROUNDS);
        report.row(name("per round, the model included"), Milliseconds, per_round, Some(3.0));
        report.row(name("memory"), Megabytes, peak(&all), Some(30.0));
        Ok(())
    }

    /// Returns a scenario with this many reads of a file, and an answer.
    fn calls(&self, count: u32) -> Result<String> {
        std::fs::write(self.project.join("notes.txt"), "hello\n")?;
        let call = "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n";
        Ok((0..count).map(|_| call).chain(["- Done.\n"]).collect())
    }
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
pub(super) fn by_1024(size: u64) -> f64 {
    size as f64 / 1024.0
}
