//! Measures the terminal program on a pseudo terminal: how fast keys appear, alone and while an
//! answer is streamed, what it costs, and what it costs when nothing happens.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Programs;
use super::program::{Place, calls, mb, median, ms, row};
use crate::pty::Pty;

/// The pieces of the streamed answer, and the pause after each group of them: 1,000 a second.
const GROUPS: usize = 1_000;
const PIECES_PER_GROUP: usize = 20;
const PAUSE_MS: usize = 20;
/// Starts of the program.
const STARTS: usize = 11;
/// Letters that are typed while nothing happens.
const IDLE_KEYS: usize = 60;
/// How long the program is left alone.
const IDLE: Duration = Duration::from_secs(30);
/// A key that has not appeared by then is lost.
const LIMIT: Duration = Duration::from_secs(5);
/// Rounds of the long session: each has two messages.
const LONG: usize = 5_000;
const LONG_SESSION: &str = "agent:bench/session:terminal";
const WORDS: [&str; 4] = ["--provider", "anthropic", "--model", "mock-model"];

/// Measures the programs of a folder.
pub(super) fn measure(programs: &Programs) -> Result<()> {
    let place = Place::new(&programs.folder, &programs.target.join("bench-terminal"))?;
    starts(&place)?;
    stream(&place)?;
    idle(&place)?;
    long_session(&place)
}

fn start(place: &Place, model: &str, more: &[&str]) -> Result<Pty> {
    let words = [&[place.robota.as_str()][..], &WORDS, more].concat();
    let mut env = place.env(model).to_vec();
    env.extend([("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
    Pty::start(&place.project, &words, &env, (120, 40))
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

fn starts(place: &Place) -> Result<()> {
    let model = place.model("loop: true\nanswers: [Done.]\n")?;
    let mut first = Vec::new();
    for _ in 0..STARTS {
        let mut pty = start(place, &model.first_line, &[])?;
        let echo = pty.echo('ж', LIMIT)?;
        first.push(echo.with_context(|| format!("no echo after the start:\n{}", pty.tail()))?);
    }
    row("start to first echo", &ms(median(first)), "50 ms");
    Ok(())
}

/// An answer of usual Markdown, in small pieces.
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

fn stream(place: &Place) -> Result<()> {
    let model = place.model(&long_answer())?;
    let mut pty = start(place, &model.first_line, &[])?;
    pty.echo('ж', LIMIT)?.context("no echo after the start")?;
    pty.type_keys("\x7f")?;
    let mut letters = letters();
    let mut idle = Vec::new();
    for letter in letters.by_ref().take(IDLE_KEYS) {
        idle.push(key(&mut pty, letter)?.context("a key was lost while nothing happened")?);
    }
    row("key to echo, idle", &ms(median(idle.clone())), "");
    row("key to echo, idle, 95 %", &ms(percentile(idle, 95)), "16 ms");
    row("memory, fresh", &mb(pty.memory_kib()?), "");

    let (cpu, printed, began) = (pty.cpu()?, pty.printed(), Instant::now());
    pty.type_keys("Write a lot.\r")?;
    let (mut echoes, mut lost) = (Vec::new(), 0);
    // The stream takes this long at least, so that all keys are typed while it runs.
    let streaming = Duration::from_millis(u64::try_from(GROUPS * PAUSE_MS)?);
    while began.elapsed() < streaming {
        match key(&mut pty, letters.next().unwrap_or('ж'))? {
            Some(echo) => echoes.push(echo),
            None => lost += 1,
        }
        // Keys come as fast as a person types.
        std::thread::park_timeout(Duration::from_millis(90));
    }
    let ended = pty.wait_for("finished-answer", Duration::from_secs(60));
    ensure!(ended.is_some(), "the answer did not end:\n{}", pty.tail());
    let whole = began.elapsed();
    let quarter = echoes.len() / 4;
    let (first, last) = (echoes[..quarter].to_vec(), echoes[echoes.len() - quarter..].to_vec());
    let ratio = median(last) / median(first);
    let name = |what: &str| format!("{} deltas: {what}", GROUPS * PIECES_PER_GROUP);
    row(&name("time"), &format!("{:.1} s", whole.as_secs_f64()), "");
    row(&name("key to echo"), &ms(median(echoes.clone())), "");
    row(&name("key to echo, 95 %"), &ms(percentile(echoes.clone(), 95)), "16 ms");
    row(&name("key to echo, slowest"), &ms(percentile(echoes, 100)), "");
    row(&name("last quarter against the first"), &format!("{ratio:.2}x"), "1.5x");
    row(&name("keys lost"), &lost.to_string(), "0");
    row(&name("CPU"), &format!("{:.2} s", pty.cpu()? - cpu), "5 s");
    let bytes = u64::try_from(pty.printed() - printed)?;
    row(&name("bytes written"), &mb(bytes / 1024), "");
    row(&name("memory after"), &mb(pty.memory_kib()?), "60 MB");
    Ok(())
}

fn idle(place: &Place) -> Result<()> {
    let model = place.model("loop: true\nanswers: [Done.]\n")?;
    let mut pty = start(place, &model.first_line, &[])?;
    pty.type_keys("Answer.\r")?;
    ensure!(pty.wait_for("Done.", LIMIT).is_some(), "no answer:\n{}", pty.tail());
    let (cpu, printed) = (pty.cpu()?, pty.printed());
    std::thread::park_timeout(IDLE);
    let used = (pty.cpu()? - cpu) / IDLE.as_secs_f64() * 100.0;
    row("idle: CPU over 30 s", &format!("{used:.1} %"), "0.0 %");
    row("idle: bytes written", &(pty.printed() - printed).to_string(), "0");
    Ok(())
}

fn long_session(place: &Place) -> Result<()> {
    std::fs::write(place.project.join("notes.txt"), "hello\n")?;
    let model = place.model(&calls(LONG))?;
    let plan = ["--session-id", LONG_SESSION, "--permission-mode", "plan", "--max-turns", "0"];
    place.answer(&model, &plan)?;
    let mut first = Vec::new();
    let mut echoes = Vec::new();
    for _ in 0..STARTS {
        let mut pty = start(place, &model.first_line, &["-r", LONG_SESSION])?;
        let echo = pty.echo('ж', LIMIT)?;
        first.push(echo.with_context(|| format!("no echo:\n{}", pty.tail()))?);
        let drawn = pty.wait_for("Done.", LIMIT);
        ensure!(drawn.is_some(), "the history was not drawn:\n{}", pty.tail());
        echoes.push(key(&mut pty, 'ы')?.context("a key was lost")?);
    }
    let name = |what: &str| format!("{} messages of history: {what}", LONG * 2);
    row(&name("start to first echo"), &ms(median(first)), "100 ms");
    row(&name("key to echo"), &ms(median(echoes)), "16 ms");
    Ok(())
}

/// Returns the value that this share of the values does not exceed, in seconds.
fn percentile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).map_or(f64::NAN, Duration::as_secs_f64)
}
