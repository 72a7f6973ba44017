//! Measures the terminal program on a pseudo terminal: how fast keys appear, alone and while an
//! answer is streamed, what it costs, and what it costs when nothing happens.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Programs;
use super::program::Place;
use super::report::{Report, Unit, at_percent, median};
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
/// Each answer of the long session.
const ANSWER: &str = "The file has **eight** lines, each with the same word:\n\n\
    - `hello`, eight times\n- nothing else\n\nThat is all there is to say about it.";
const LAST_WORDS: &str = "all there is to say";
const LONG_SESSION: &str = "agent:bench/session:terminal";
const SIZE: (u16, u16) = (120, 40);
const MODEL: [&str; 4] = ["--provider", "anthropic", "--model", "mock-model"];

/// Measures the programs of a folder.
pub(super) fn measure(programs: &Programs) -> Result<()> {
    let place = Place::new(&programs.folder, &programs.target.join("bench-terminal"))?;
    let mut report = Report::begin()?;
    starts(&place, &mut report)?;
    stream(&place, &mut report)?;
    idle(&place, &mut report)?;
    long_session(&place, &mut report)?;
    report.end();
    Ok(())
}

fn start(place: &Place, model: &str, words: &[&str], more: &[&str]) -> Result<Pty> {
    let words = [&[place.robota.as_str()][..], words, more].concat();
    let mut env = place.env(model).to_vec();
    env.extend([("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
    Pty::start(&place.project, &words, &env, SIZE)
}

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
    pty.wait_for("ж", LIMIT).with_context(|| format!("no echo after the start:\n{}", pty.tail()))
}

fn starts(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model("loop: true\nanswers: [Done.]\n")?;
    let mut first = Vec::new();
    for _ in 0..STARTS {
        let mut pty = start(place, &model.first_line, &MODEL, &[])?;
        first.push(first_echo(&mut pty)?);
    }
    report.row("start to first echo", Unit::Milliseconds, median(&first), Some(50.0));
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
        // Writing to a string cannot fail.
        let _ = write!(
            steps,
            "{{text: \"word \", times: {words}}}, {{text: {end:?}}}, {{stall: {{ms: {PAUSE_MS}}}}}, "
        );
    }
    format!("answers: [{{steps: [{steps}{{text: finished-answer}}]}}]\n")
}

fn stream(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model(&long_answer())?;
    let mut pty = start(place, &model.first_line, &MODEL, &[])?;
    first_echo(&mut pty)?;
    pty.type_keys("\x7f")?;
    pty.wait_for("ready", LIMIT).context("the session was not opened")?;
    pty.wait_until_quiet(QUIET);
    let mut letters = letters();
    let mut idle = Vec::new();
    for letter in letters.by_ref().take(IDLE_KEYS) {
        idle.push(key(&mut pty, letter)?.context("a key was lost while nothing happened")?);
        // Keys come one by one, not while the last one is being deleted.
        std::thread::park_timeout(Duration::from_millis(20));
    }
    report.row("idle: key to echo", Unit::Milliseconds, median(&idle), None);
    report.row("idle: key to echo, 95 %", Unit::Milliseconds, at_percent(&idle, 95), Some(16.0));
    report.row("memory, fresh", Unit::Megabytes, pty.memory_mb()?, None);

    let (cpu, printed, began) = (pty.cpu()?, pty.printed(), Instant::now());
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
    let ended = pty.wait_for("finished-answer", Duration::from_secs(60));
    ensure!(ended.is_some(), "the answer did not end:\n{}", pty.tail());
    let whole = began.elapsed();
    pty.wait_until_quiet(QUIET);
    let quarter = echoes.len() / 4;
    let ratio = median(&echoes[echoes.len() - quarter..]) / median(&echoes[..quarter]);
    let name = |what: &str| format!("{} deltas: {what}", GROUPS * PIECES_PER_GROUP);
    report.row(&name("time"), Unit::Seconds, whole.as_secs_f64(), None);
    report.row(&name("key to echo"), Unit::Milliseconds, median(&echoes), None);
    let slow = at_percent(&echoes, 95);
    report.row(&name("key to echo, 95 %"), Unit::Milliseconds, slow, Some(16.0));
    let slowest = at_percent(&echoes, 100);
    report.row(&name("key to echo, slowest"), Unit::Milliseconds, slowest, None);
    report.row(&name("last quarter against the first"), Unit::Times, ratio, Some(1.5));
    report.row(&name("keys lost"), Unit::Count, f64::from(lost), Some(0.0));
    report.row(&name("CPU"), Unit::Seconds, pty.cpu()? - cpu, Some(5.0));
    let written = u32::try_from(pty.printed() - printed)?;
    report.row(&name("written"), Unit::Megabytes, f64::from(written) / 1_048_576.0, None);
    report.row(&name("memory after"), Unit::Megabytes, pty.memory_mb()?, Some(60.0));
    Ok(())
}

/// Types many letters at once, and counts those that do not appear.
fn lost_of_burst(pty: &mut Pty) -> Result<u32> {
    let burst: String = letters().take(BURST).collect();
    pty.type_keys(&burst)?;
    let whole = format!("› {burst}");
    let shown = pty.wait_for_screen(SIZE, LIMIT, |screen| screen.contains(&whole))?;
    pty.type_keys(&"\x7f".repeat(BURST))?;
    let lost = BURST - burst.chars().filter(|letter| shown.contains(*letter)).count();
    Ok(u32::try_from(lost)?)
}

fn idle(place: &Place, report: &mut Report) -> Result<()> {
    let model = place.model("loop: true\nanswers: [Done.]\n")?;
    let mut pty = start(place, &model.first_line, &MODEL, &[])?;
    pty.type_keys("Answer.\r")?;
    ensure!(pty.wait_for("Done.", LIMIT).is_some(), "no answer:\n{}", pty.tail());
    pty.wait_until_quiet(QUIET);
    let (before, printed) = (pty.cpu_of_threads()?, pty.printed());
    std::thread::park_timeout(IDLE);
    let used: Duration = pty
        .cpu_of_threads()?
        .iter()
        .map(|(thread, used)| *used - before.get(thread).copied().unwrap_or_default())
        .sum();
    let used = used.as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    let bytes = u32::try_from(pty.printed() - printed)?;
    report.row("idle: CPU over 30 s", Unit::Percent, used, Some(0.05));
    report.row("idle: bytes written", Unit::Count, f64::from(bytes), Some(0.0));
    Ok(())
}

/// A transcript of another agent with this many messages. Importing it costs seconds, while a model
/// that is asked so often gets the whole conversation each time.
fn transcript(messages: usize) -> String {
    let mut lines = String::new();
    for number in 0..messages {
        let round = number / 4;
        let call = format!("call-{round}");
        let (kind, message) = match number % 4 {
            0 => (
                "user",
                json!({"role": "user", "content": format!("Question {round}: what is in notes.txt?")}),
            ),
            1 => (
                "assistant",
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "Read",
                    "input": {"file_path": "notes.txt"}}]}),
            ),
            2 => (
                "user",
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call,
                    "content": "     1\thello\n".repeat(8)}]}),
            ),
            _ => (
                "assistant",
                json!({"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}),
            ),
        };
        let parent = number.checked_sub(1).map(|parent| format!("line-{parent}"));
        let line = json!({
            "type": kind,
            "uuid": format!("line-{number}"),
            "parentUuid": parent,
            "sessionId": "bench",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": message,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    lines
}

fn long_session(place: &Place, report: &mut Report) -> Result<()> {
    let file = place.project.with_file_name("transcript.jsonl");
    std::fs::write(&file, transcript(LONG))?;
    let file = file.to_str().context("a path that is not UTF-8")?;
    place.import(file, LONG_SESSION)?;
    let model = place.model("loop: true\nanswers: [Done.]\n")?;
    let (mut first, mut drawn, mut echoes) = (vec![], vec![], vec![]);
    let (mut memory, mut messages) = (0.0_f64, 0);
    for _ in 0..STARTS {
        let mut pty = start(place, &model.first_line, &MODEL, &["-r", LONG_SESSION])?;
        first.push(first_echo(&mut pty)?);
        let shown = pty.wait_for(LAST_WORDS, LIMIT);
        drawn.push(shown.with_context(|| format!("no history was drawn:\n{}", pty.tail()))?);
        messages = earlier_messages(&pty)?;
        pty.type_keys("\x7f")?;
        pty.wait_until_quiet(Duration::from_millis(100));
        for letter in letters().take(10) {
            echoes.push(key(&mut pty, letter)?.context("a key was lost")?);
        }
        memory = memory.max(pty.memory_mb()?);
    }
    let name = |what: &str| format!("{messages} messages of history: {what}");
    report.row(&name("start to first echo"), Unit::Milliseconds, median(&first), Some(50.0));
    report.row(&name("start to history drawn"), Unit::Milliseconds, median(&drawn), Some(100.0));
    let slow = at_percent(&echoes, 95);
    report.row(&name("key to echo, 95 %"), Unit::Milliseconds, slow, Some(16.0));
    report.row(&name("memory"), Unit::Megabytes, memory, Some(60.0));
    Ok(())
}

/// Returns how many messages the session has, if the program says that it has them. That line is the
/// first of the history, and has left the screen when the last one is drawn.
fn earlier_messages(pty: &Pty) -> Result<usize> {
    const TEXT: &str = " earlier messages";
    ensure!(pty.wait_for(TEXT, LIMIT).is_some(), "no count of messages:\n{}", pty.tail());
    let printed = pty.text();
    let (before, _) = printed.split_once(TEXT).context("no count of messages")?;
    let number = before.rsplit(' ').next().context("no count of messages")?;
    let number: usize = number.parse().with_context(|| format!("not a number: {number}"))?;
    ensure!(number + 100 > LONG, "the session has only {number} messages");
    Ok(LONG)
}
