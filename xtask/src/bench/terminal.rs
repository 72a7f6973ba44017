//! Measures the terminal program on a pseudo terminal: how fast keys appear, alone and while an
//! answer is streamed, what it costs, and what it costs when nothing happens.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::program::by_1024;
use super::report::Unit::{Count, Megabytes, Milliseconds, Percent, Seconds, Times};
use super::report::{Report, at_percent, median};
use super::{Place, SHORT_ANSWER, Scenario};
use crate::pty::Pty;

/// The pieces of the streamed answer, and the pause after each group of them: 1,000 a second.
const GROUPS: usize = 1_000;
const PIECES_PER_GROUP: usize = 20;
const PAUSE_MS: usize = 20;
/// Starts of the program.
const STARTS: usize = 11;
/// Letters that are typed while nothing happens.
const IDLE_KEYS: usize = 100;
/// Letters that are typed at once in the stream; they fit into one row.
const BURST: usize = 60;
/// How long the program is idle.
const IDLE: Duration = Duration::from_secs(30);
/// When nothing was printed for this long, everything that happened is on the screen.
const QUIET: Duration = Duration::from_millis(1_500);
/// A key that has not appeared by then is lost.
const LIMIT: Duration = Duration::from_secs(5);
/// Messages of the long session.
const LONG: usize = 10_000;
/// Four of them, in the format of another agent: a question, a call, its result and the answer.
const ROUND: &str = include_str!("terminal/round.txt");
const LAST_WORDS: &str = "all there is to say";
const LONG_SESSION: &str = "agent:bench/session:terminal";
const SIZE: (u16, u16) = (120, 40);

/// What is measured.
pub(super) const SCENARIOS: &[Scenario] =
    &[("start", starts), ("stream", stream), ("idle", idle), ("history", long_session)];

/// Returns letters that the program prints only as an echo.
fn letters() -> impl Iterator<Item = char> {
    ('а'..='я').chain('А'..='Я').cycle()
}

/// Types a letter, waits for it, and deletes it again.
fn key(pty: &mut Pty, letter: char) -> Result<Option<Duration>> {
    let echo = pty.echo(letter, LIMIT)?;
    pty.type_keys("\x7f")?;
    Ok(echo)
}

/// Types a letter at the start of the program. Returns how long it took from the start until the
/// program printed it.
fn first_echo(pty: &mut Pty) -> Result<Duration> {
    pty.type_keys("ж")?;
    pty.wait_for("ж", LIMIT)
}

fn memory_mb(pty: &Pty) -> Result<f64> {
    pty.program.memory_kib("status", "VmRSS").map(by_1024)
}

fn starts(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model(SHORT_ANSWER)?;
    let mut first = Vec::new();
    for _ in 0..STARTS {
        first.push(first_echo(&mut place.on_terminal(&model, &[], SIZE)?)?);
    }
    report.row("start to first echo", Milliseconds, median(&first), Some(50.0));
    Ok(())
}

/// Returns an answer of usual Markdown, in small pieces.
fn long_answer() -> String {
    let mut steps = String::new();
    for group in 0..GROUPS {
        let end = match group % 25 {
            24 => "\n\n```rust\nlet answer: u32 = compute(42);\n```\n\n## Next\n\n",
            4 | 14 => "\n\n- an entry of a list with **bold** text\n- another one\n\n",
            9 | 19 => "\n\n",
            _ => "`code` ",
        };
        let words = PIECES_PER_GROUP - 1;
        steps += &format!("{{text: \"word \", times: {words}}}, {{text: {end:?}}}, ");
        steps += &format!("{{stall: {{ms: {PAUSE_MS}}}}}, ");
    }
    format!("answers: [{{steps: [{steps}{{text: finished-answer}}]}}]\n")
}

fn stream(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model(&long_answer())?;
    let mut pty = place.on_terminal(&model, &[], SIZE)?;
    first_echo(&mut pty)?;
    pty.type_keys("\x7f")?;
    pty.wait_for("ready", LIMIT)?;
    pty.wait_until_quiet(QUIET);
    let mut letters = letters();
    let mut idle = Vec::new();
    for letter in letters.by_ref().take(IDLE_KEYS) {
        idle.push(key(&mut pty, letter)?.context("a key was lost while nothing happened")?);
        // Keys come one by one, not while the last one is being deleted.
        std::thread::park_timeout(Duration::from_millis(20));
    }
    report.row("idle: key to echo", Milliseconds, median(&idle), None);
    report.row("idle: key to echo, 95 %", Milliseconds, at_percent(&idle, 95), Some(16.0));
    report.row("memory, fresh", Megabytes, memory_mb(&pty)?, None);

    let (cpu, printed, began) = (pty.program.cpu()?, pty.printed().len(), Instant::now());
    pty.type_keys("Write a lot.\r")?;
    let (mut echoes, mut lost) = (Vec::new(), 0);
    // The stream takes this long at least, so that all keys are typed while it runs.
    let streaming = Duration::from_millis(u64::try_from(GROUPS * PAUSE_MS)?);
    let mut burst = false;
    while began.elapsed() < streaming {
        match key(&mut pty, letters.next().unwrap_or('ж'))? {
            Some(echo) => echoes.push(echo),
            None => lost += 1,
        }
        if !burst && began.elapsed() > streaming / 2 {
            burst = true;
            lost += lost_of_burst(&mut pty)?;
        }
        // Keys come as fast as a person types.
        std::thread::park_timeout(Duration::from_millis(90));
    }
    pty.wait_for("finished-answer", Duration::from_secs(60))?;
    let whole = began.elapsed().as_secs_f64();
    pty.wait_until_quiet(QUIET);
    let quarter = echoes.len() / 4;
    let ratio = median(&echoes[echoes.len() - quarter..]) / median(&echoes[..quarter]);
    let cpu = (pty.program.cpu()? - cpu).as_secs_f64();
    let written = by_1024(u64::try_from(pty.printed().len() - printed)?) / 1024.0;
    for (what, unit, measured, target) in [
        ("time", Seconds, whole, None),
        ("key to echo", Milliseconds, median(&echoes), None),
        ("key to echo, 95 %", Milliseconds, at_percent(&echoes, 95), Some(16.0)),
        ("key to echo, slowest", Milliseconds, at_percent(&echoes, 100), None),
        ("last quarter against the first", Times, ratio, Some(1.5)),
        ("keys lost", Count, f64::from(lost), Some(0.0)),
        ("CPU", Seconds, cpu, Some(5.0)),
        ("written", Megabytes, written, None),
        ("memory after", Megabytes, memory_mb(&pty)?, Some(60.0)),
    ] {
        report.row(format!("{} deltas: {what}", GROUPS * PIECES_PER_GROUP), unit, measured, target);
    }
    Ok(())
}

/// Types many letters at once, and counts those that do not appear.
fn lost_of_burst(pty: &mut Pty) -> Result<u32> {
    let burst: String = letters().take(BURST).collect();
    pty.type_keys(&burst)?;
    let shown = pty.wait_for_screen(&format!("› {burst}"), LIMIT);
    pty.type_keys(&"\x7f".repeat(BURST))?;
    let lost = BURST - burst.chars().filter(|letter| shown.contains(*letter)).count();
    Ok(u32::try_from(lost)?)
}

fn idle(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model(SHORT_ANSWER)?;
    let mut pty = place.on_terminal(&model, &[], SIZE)?;
    pty.type_keys("Answer.\r")?;
    pty.wait_for("Done.", LIMIT)?;
    pty.wait_until_quiet(QUIET);
    let (cpu, printed) = (pty.program.cpu()?, pty.printed().len());
    std::thread::park_timeout(IDLE);
    let used = (pty.program.cpu()? - cpu).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    let bytes = u32::try_from(pty.printed().len() - printed)?;
    report.row("idle: CPU over 30 s", Percent, used, Some(0.05));
    report.row("idle: bytes written", Count, f64::from(bytes), Some(0.0));
    Ok(())
}

/// Returns a transcript of another agent with many messages. Importing it costs seconds, while a model
/// that is asked so often gets the whole conversation each time.
fn transcript() -> String {
    let round = |number: usize| {
        let before = number.checked_sub(1).map(|before| format!("\"answer-{before}\""));
        let before = before.as_deref().unwrap_or("null");
        ROUND.replace("BEFORE", before).replace("NUMBER", &number.to_string())
    };
    (0..LONG / ROUND.lines().count()).map(round).collect()
}

fn long_session(place: &Place, report: &mut Report) -> Result<()> {
    let file = place.project.with_file_name("transcript.jsonl");
    std::fs::write(&file, transcript())?;
    let file = file.to_str().context("a path that is not UTF-8")?;
    let import = ["sessions", "import", file, "--from", "claude", "--id", LONG_SESSION];
    place.succeed(&import, "")?;
    let model = place.model(SHORT_ANSWER)?;
    let (mut first, mut drawn, mut echoes) = (vec![], vec![], vec![]);
    let mut memory = 0.0_f64;
    for _ in 0..STARTS {
        let mut pty = place.on_terminal(&model, &["-r", LONG_SESSION], SIZE)?;
        first.push(first_echo(&mut pty)?);
        drawn.push(pty.wait_for(LAST_WORDS, LIMIT)?);
        check_history(&mut pty)?;
        pty.type_keys("\x7f")?;
        pty.wait_until_quiet(Duration::from_millis(100));
        for letter in letters().take(10) {
            echoes.push(key(&mut pty, letter)?.context("a key was lost")?);
        }
        memory = memory.max(memory_mb(&pty)?);
    }
    for (what, unit, measured, target) in [
        ("start to first echo", Milliseconds, median(&first), 50.0),
        ("start to history drawn", Milliseconds, median(&drawn), 100.0),
        ("key to echo, 95 %", Milliseconds, at_percent(&echoes, 95), 16.0),
        ("memory", Megabytes, memory, 60.0),
    ] {
        report.row(format!("{LONG} messages of history: {what}"), unit, measured, Some(target));
    }
    Ok(())
}

/// Checks how many messages the session has, as the program says. That line is the first of the
/// history, and has left the screen when the last one is drawn.
fn check_history(pty: &mut Pty) -> Result<()> {
    const TEXT: &str = " earlier messages";
    pty.wait_for(TEXT, LIMIT)?;
    let printed = String::from_utf8_lossy(pty.printed());
    let number = printed.split(TEXT).next().and_then(|before| before.rsplit(' ').next());
    let number: usize = number.context("no count of messages")?.parse()?;
    ensure!(number + 100 > LONG, "the session has only {number} messages");
    Ok(())
}
