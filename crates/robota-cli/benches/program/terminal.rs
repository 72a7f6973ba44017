//! The program on a pseudo terminal: how fast keys appear, alone and while an answer is streamed, what
//! it costs, and what it costs when nothing happens.

use std::time::{Duration, Instant};

use robota_testkit::mock::{MockServer, Scenario};

use crate::headless::short_answer;
use crate::home;
use crate::home::{Home, stdout};
use crate::pty::{Start, Terminal};
use crate::report::Unit::{Count, Megabytes, Milliseconds, Percent, Seconds, Times};
use crate::report::{Report, at_percent, by_1024, median};
use crate::usage::{cpu_of, memory_mb};

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
const ROUND: &str = include_str!("round.jsonl");
const LAST_WORDS: &str = "all there is to say";
const LONG_SESSION: &str = "agent:bench/session:terminal";

/// A program on a terminal, and when it was started. The terminal itself shows no typed keys: what is
/// shown was printed by the program.
struct Started(Terminal, Instant);

impl Started {
    fn new(home: &Home, mock: &MockServer, more: &[&str]) -> Self {
        let words = [&["--provider", "anthropic", "--model", "mock-model"][..], more].concat();
        let mut start = Start::robota(home, &words).model(&mock.origin()).size(120, 40);
        start.echo = false;
        let began = Instant::now();
        Self(start.start(), began)
    }

    /// Waits until the terminal shows a text. Returns how long that took since the start, in
    /// milliseconds.
    async fn until(&mut self, text: &str) -> Duration {
        self.0.until_text(text).await;
        self.1.elapsed()
    }

    /// Types a letter at the start of the program. Returns how long it took from the start until the
    /// program printed it.
    async fn first_echo(&mut self) -> Duration {
        self.0.type_keys("ж");
        self.until("ж").await
    }

    /// Types a letter, waits for it, and deletes it again. Returns how long it took until the program
    /// printed it; none if the letter was lost.
    async fn key(&mut self, letter: char) -> Option<Duration> {
        let (letter, start) = (letter.to_string(), Instant::now());
        self.0.type_keys(&letter);
        let shown = tokio::time::timeout(LIMIT, self.0.until_text(&letter)).await;
        let echo = shown.is_ok().then(|| start.elapsed());
        self.0.type_keys("\x7f");
        echo
    }

    /// Types many letters at once, and counts those that do not appear.
    async fn lost_of_burst(&mut self) -> usize {
        let burst: String = letters().take(BURST).collect();
        self.0.type_keys(&burst);
        let whole = format!("› {burst}");
        let shown = tokio::time::timeout(LIMIT, self.0.until_text(&whole)).await;
        let seen = self.0.shown();
        self.0.type_keys(&"\x7f".repeat(BURST));
        if shown.is_ok() { 0 } else { burst.chars().filter(|it| !seen.contains(*it)).count() }
    }

    /// Waits until the program has printed nothing for this long.
    async fn until_quiet(&mut self, quiet: Duration) {
        while tokio::time::timeout(quiet, self.0.changed.changed()).await.is_ok() {}
    }

    /// Returns how many bytes the program has printed.
    fn printed(&self) -> u64 {
        *self.0.changed.borrow()
    }

    fn cpu(&self) -> Duration {
        cpu_of(self.0.pid())
    }

    fn memory_mb(&self) -> f64 {
        memory_mb(self.0.pid(), "status", "VmRSS")
    }
}

/// Returns letters that the program prints only as an echo.
fn letters() -> impl Iterator<Item = char> {
    ('а'..='я').chain('А'..='Я').cycle()
}

pub(crate) async fn start(report: &mut Report) {
    let (home, mock) = (home(), short_answer().await);
    let mut first = Vec::new();
    for _ in 0..STARTS {
        first.push(Started::new(&home, &mock, &[]).first_echo().await);
    }
    report.row("start to first echo", Milliseconds, median(&first), 50.0);
}

/// Returns an answer of usual Markdown, in small pieces.
fn long_answer() -> Scenario {
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
    let text = format!("answers: [{{steps: [{steps}{{text: finished-answer}}]}}]\n");
    Scenario::from_yaml(&text).unwrap()
}

pub(crate) async fn stream(report: &mut Report) {
    let (home, mock) = (home(), MockServer::start(long_answer()).await.unwrap());
    let mut program = Started::new(&home, &mock, &[]);
    program.first_echo().await;
    program.0.type_keys("\x7f");
    program.until("ready").await;
    program.until_quiet(QUIET).await;
    let (mut letters, mut idle) = (letters(), Vec::new());
    for letter in letters.by_ref().take(IDLE_KEYS) {
        idle.push(program.key(letter).await.expect("a key was lost while nothing happened"));
        // Keys come one by one, not while the last one is being deleted.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.row("idle: key to echo", Milliseconds, median(&idle), None);
    report.row("idle: key to echo, 95 %", Milliseconds, at_percent(&idle, 95), 16.0);
    report.row("memory, fresh", Megabytes, program.memory_mb(), None);

    let (cpu, printed, began) = (program.cpu(), program.printed(), Instant::now());
    program.0.type_keys("Write a lot.\r");
    let (mut echoes, mut lost) = (Vec::new(), 0);
    // The stream takes this long at least, so that all keys are typed while it runs.
    let streaming = Duration::from_millis((GROUPS * PAUSE_MS) as u64);
    let mut burst = false;
    while began.elapsed() < streaming {
        match program.key(letters.next().unwrap()).await {
            Some(echo) => echoes.push(echo),
            None => lost += 1,
        }
        if !burst && began.elapsed() > streaming / 2 {
            burst = true;
            lost += program.lost_of_burst().await;
        }
        // Keys come as fast as a person types.
        tokio::time::sleep(Duration::from_millis(90)).await;
    }
    program.until("finished-answer").await;
    let whole = began.elapsed().as_secs_f64();
    program.until_quiet(QUIET).await;
    let quarter = echoes.len() / 4;
    let ratio = median(&echoes[echoes.len() - quarter..]) / median(&echoes[..quarter]);
    let cpu = (program.cpu() - cpu).as_secs_f64();
    let written = by_1024(program.printed() - printed) / 1024.0;
    for (what, unit, measured, target) in [
        ("time", Seconds, whole, None),
        ("key to echo", Milliseconds, median(&echoes), None),
        ("key to echo, 95 %", Milliseconds, at_percent(&echoes, 95), Some(16.0)),
        ("key to echo, slowest", Milliseconds, at_percent(&echoes, 100), None),
        ("last quarter against the first", Times, ratio, Some(1.5)),
        ("keys lost", Count, lost as f64, Some(0.0)),
        ("CPU", Seconds, cpu, Some(5.0)),
        ("written", Megabytes, written, None),
        ("memory after", Megabytes, program.memory_mb(), Some(60.0)),
    ] {
        report.row(format!("{} deltas: {what}", GROUPS * PIECES_PER_GROUP), unit, measured, target);
    }
}

pub(crate) async fn idle(report: &mut Report) {
    let (home, mock) = (home(), short_answer().await);
    let mut program = Started::new(&home, &mock, &[]);
    program.0.type_keys("Answer.\r");
    program.until("Done.").await;
    program.until_quiet(QUIET).await;
    let (cpu, printed) = (program.cpu(), program.printed());
    tokio::time::sleep(IDLE).await;
    let used = (program.cpu() - cpu).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    report.row("idle: CPU over 30 s", Percent, used, 0.05);
    report.row("idle: bytes written", Count, (program.printed() - printed) as f64, 0.0);
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

pub(crate) async fn history(report: &mut Report) {
    let (home, mock) = (home(), short_answer().await);
    home.write("transcript.jsonl", transcript());
    let file = home.path("transcript.jsonl").display().to_string();
    let import = ["sessions", "import", &file, "--from", "claude", "--id", LONG_SESSION];
    let printed = stdout(&home.robota(&import, &[]).await);
    let events = printed.split('(').nth(1).and_then(|rest| rest.split(' ').next());
    let events: usize = events.expect("nothing was imported").parse().unwrap();
    assert!(events >= LONG, "the session has only {events} events");
    let (mut first, mut drawn, mut echoes) = (vec![], vec![], vec![]);
    let mut memory = 0.0_f64;
    for _ in 0..STARTS {
        let mut program = Started::new(&home, &mock, &["-r", LONG_SESSION]);
        first.push(program.first_echo().await);
        drawn.push(program.until(LAST_WORDS).await);
        program.0.type_keys("\x7f");
        program.until_quiet(Duration::from_millis(100)).await;
        for letter in letters().take(10) {
            echoes.push(program.key(letter).await.expect("a key was lost"));
        }
        memory = memory.max(program.memory_mb());
    }
    for (what, unit, measured, target) in [
        ("start to first echo", Milliseconds, median(&first), 50.0),
        ("start to history drawn", Milliseconds, median(&drawn), 100.0),
        ("key to echo, 95 %", Milliseconds, at_percent(&echoes, 95), 16.0),
        ("memory", Megabytes, memory, 60.0),
    ] {
        report.row(format!("{LONG} messages of history: {what}"), unit, measured, target);
    }
}
