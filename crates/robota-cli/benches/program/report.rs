//! The table of what was measured, with the targets.

use std::time::Duration;

/// The unit of a number.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
    Megabytes,
    Kilobytes,
    Percent,
    Times,
    Count,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Kilobytes => format!("{value:.1} KB"),
            Self::Percent => format!("{value:.2} %"),
            Self::Times => format!("{value:.2}x"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// Prints the table, one row at a time.
pub(crate) struct Report {
    missed: usize,
}

impl Report {
    /// Prints the head of the table, with the load of the machine: on a busy one, times mean little.
    pub(crate) fn begin() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap();
        let load = load.split(' ').next().unwrap();
        println!("load of the machine at the start: {load}\n");
        println!("{:<60} {:>12} {:>12}", "", "measured", "at most");
        Self { missed: 0 }
    }

    /// Prints a number, and whether it meets its target.
    pub(crate) fn row(
        &mut self,
        name: impl AsRef<str>,
        unit: Unit,
        measured: f64,
        target: impl Into<Option<f64>>,
    ) {
        let target = target.into();
        let missed = target.is_some_and(|target| measured.is_nan() || measured > target);
        self.missed += usize::from(missed);
        let verdict = match target {
            None => "",
            Some(_) if missed => "  MISSED",
            Some(_) => "  ok",
        };
        let target = target.map(|target| unit.show(target)).unwrap_or_default();
        println!("{:<60} {:>12} {target:>12}{verdict}", name.as_ref(), unit.show(measured));
    }

    /// Prints how many targets were missed.
    pub(crate) fn end(&self) {
        match self.missed {
            0 => println!("\nall targets are met"),
            missed => println!("\n{missed} targets are missed"),
        }
    }
}

/// Returns the median, in milliseconds.
pub(crate) fn median(times: &[Duration]) -> f64 {
    at_percent(times, 50)
}

/// Returns the value that this share of the values does not exceed, in milliseconds.
pub(crate) fn at_percent(times: &[Duration], percent: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
pub(crate) fn by_1024(size: u64) -> f64 {
    size as f64 / 1024.0
}
