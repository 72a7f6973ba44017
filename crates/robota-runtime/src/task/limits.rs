//! Watchdogs: a runaway task is ended, with the reason (RUN-02).

use std::time::Duration;

use robota_core::task::{TaskKind, TimeoutReason};
use tokio::time::Instant;

/// When a task is ended. An absent limit does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLimits {
    /// The longest time without text, while no tool call runs and no approval is awaited.
    pub idle: Option<Duration>,
    /// The longest time it may run.
    pub runtime: Option<Duration>,
    /// The most bytes of text that it may write.
    pub output: Option<u64>,
    /// The most pieces of text, as the model or the program wrote them.
    pub pieces: Option<u64>,
    /// The longest text, in bytes, that counts as a repetition, and how often it must be repeated.
    pub repetition: Option<(usize, usize)>,
}

impl TaskLimits {
    /// Sets no limits: only the task itself and its users end it.
    pub const NONE: Self =
        Self { idle: None, runtime: None, output: None, pieces: None, repetition: None };

    /// Returns the default limits of a kind. An agent that writes nothing for ten minutes hangs; a
    /// server is silent for days.
    #[must_use]
    pub fn of(kind: TaskKind) -> Self {
        match kind {
            TaskKind::Agent => Self {
                idle: Some(Duration::from_secs(600)),
                runtime: None,
                output: Some(4 * 1024 * 1024),
                pieces: Some(200_000),
                repetition: Some((800, 8)),
            },
            // A server in the background may be silent for days and run as long as the session.
            TaskKind::Process => Self { output: Some(256 * 1024 * 1024), ..Self::NONE },
        }
    }
}

/// Counts what one task does and finds the limit that it exceeds.
#[derive(Debug)]
pub struct Watchdog {
    limits: TaskLimits,
    started: Instant,
    active: Instant,
    /// Whether the task may be silent, because a tool runs or an approval is awaited.
    busy: u32,
    bytes: u64,
    pieces: u64,
    tail: Vec<u8>,
    /// Bytes since repetitions were looked for.
    unchecked: usize,
}

impl Watchdog {
    /// Starts to watch a task that starts now.
    #[must_use]
    pub fn new(limits: TaskLimits, now: Instant) -> Self {
        Self {
            limits,
            started: now,
            active: now,
            busy: 0,
            bytes: 0,
            pieces: 0,
            tail: Vec::new(),
            unchecked: 0,
        }
    }

    /// Takes text that the task wrote in some pieces. Returns the limit that it exceeds.
    pub fn text(
        &mut self,
        text: &str,
        pieces: u64,
        lost: u64,
        now: Instant,
    ) -> Option<TimeoutReason> {
        self.active = now;
        self.bytes += text.len() as u64 + lost;
        self.pieces += pieces;
        if self.limits.output.is_some_and(|limit| self.bytes > limit) {
            return Some(TimeoutReason::OutputLimit);
        }
        if self.limits.pieces.is_some_and(|limit| self.pieces > limit) {
            return Some(TimeoutReason::TextDeltas);
        }
        self.repeats(text).then_some(TimeoutReason::Repetition)
    }

    /// Takes the start (or the end) of something during which the task may be silent.
    pub fn busy(&mut self, begins: bool, now: Instant) {
        self.active = now;
        self.busy = if begins { self.busy + 1 } else { self.busy.saturating_sub(1) };
    }

    /// Takes another sign of life.
    pub fn active(&mut self, now: Instant) {
        self.active = now;
    }

    /// Returns when the next limit of time is reached, and which one.
    #[must_use]
    pub fn deadline(&self) -> Option<(Instant, TimeoutReason)> {
        // A tool or a question may take as long as it needs; they have limits of their own.
        let idle = self.limits.idle.filter(|_| self.busy == 0);
        let idle = idle.map(|limit| (self.active + limit, TimeoutReason::Idle));
        let runtime = self.limits.runtime;
        let runtime = runtime.map(|limit| (self.started + limit, TimeoutReason::MaxRuntime));
        idle.into_iter().chain(runtime).min_by_key(|(at, _)| *at)
    }

    fn repeats(&mut self, text: &str) -> bool {
        let Some((window, threshold)) = self.limits.repetition else { return false };
        let wanted = window.saturating_mul(threshold).max(1);
        self.tail.extend_from_slice(text.as_bytes());
        let excess = self.tail.len().saturating_sub(wanted);
        self.tail.drain(..excess);
        self.unchecked += text.len();
        // Searched only once per window of new text: the search reads the whole tail.
        if self.tail.len() < wanted || self.unchecked < window {
            return false;
        }
        self.unchecked = 0;
        smallest_period(&self.tail) <= window
    }
}

/// Returns the smallest number of bytes after which the text repeats itself; the length if it does
/// not.
fn smallest_period(text: &[u8]) -> usize {
    // The prefix function of Knuth, Morris and Pratt.
    let mut borders = vec![0_usize; text.len()];
    let mut border = 0;
    for at in 1..text.len() {
        while border > 0 && text[at] != text[border] {
            border = borders[border - 1];
        }
        if text[at] == text[border] {
            border += 1;
        }
        borders[at] = border;
    }
    text.len() - borders.last().copied().unwrap_or(0)
}

/// Returns what a limit means, for people.
pub(super) fn describe(reason: TimeoutReason) -> &'static str {
    match reason {
        TimeoutReason::Idle => "it did nothing for too long",
        TimeoutReason::MaxRuntime => "it ran for too long",
        TimeoutReason::OutputLimit => "it wrote too much text",
        TimeoutReason::TextDeltas => "it wrote text in too many pieces",
        TimeoutReason::Repetition => "it repeated the same text",
    }
}

#[cfg(test)]
mod tests;
