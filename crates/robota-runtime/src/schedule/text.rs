//! Schedules as people read and write them.

use std::time::Duration;

use robota_core::event::Trigger;
use robota_core::message::Block;

use super::ScheduleInfo;
use super::error::ScheduleError;

/// The most characters of a prompt in a list.
const MAX_PROMPT: usize = 100;

impl ScheduleInfo {
    /// Returns when it fires: `daily 09:00 Europe/Stockholm`.
    #[must_use]
    pub fn when(&self) -> String {
        let zone = self.spec.zone.as_deref().unwrap_or("UTC");
        match &self.spec.trigger {
            Trigger::Every { millis } => format!("every {} s", millis / 1_000),
            Trigger::EverySteps { steps } => format!("every {steps} answers"),
            Trigger::Daily { time } => format!("daily {time} {zone}"),
            Trigger::Weekly { day, time } => format!("weekly {day} {time} {zone}"),
            Trigger::Cron { pattern } => format!("cron {pattern} {zone}"),
        }
    }

    /// Returns the text that it sends.
    #[must_use]
    pub fn prompt(&self) -> String {
        let text = self.spec.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        text.collect::<Vec<_>>().join(" ")
    }

    /// Returns a list of schedules: two lines for each, without control characters.
    #[must_use]
    pub fn list_text(list: &[Self]) -> String {
        if list.is_empty() {
            return "The session has no schedules.".to_owned();
        }
        let lines = list.iter().map(|info| {
            let state = match (&info.problem, info.paused, info.next.first()) {
                (Some(problem), ..) => format!("cannot run: {problem}"),
                (None, true, _) => "paused".to_owned(),
                (None, false, Some(next)) => format!("next {next}"),
                (None, false, None) => "after answers".to_owned(),
            };
            let (id, when, runs, missed) = (&info.id, info.when(), info.runs, info.missed);
            let prompt = short(&info.prompt());
            format!("{id}  {when}, {state}, {runs} runs, {missed} missed\n    {prompt}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the beginning of a text in one line.
fn short(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_PROMPT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Reads a period such as `10m`.
///
/// # Errors
/// If it is none.
pub fn parse_period(text: &str) -> Result<Duration, ScheduleError> {
    let invalid = || ScheduleError::invalid(text, "a period such as 90s, 10m, 2h or 1d");
    let unit = text.chars().next_back().ok_or_else(invalid)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(invalid()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| invalid())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(invalid)
}
