//! The limits of a budget, and where they come from.

use std::num::NonZeroU64;
use std::time::Duration;

use robota_config::SettingsFile;
use robota_config::model::{Amount, LimitSettings};
use serde::Serialize;

/// Limits what a session, a turn or a subagent may use. An absent limit does not apply.
///
/// ```
/// use robota_sdk::BudgetLimits;
///
/// let limits = BudgetLimits { usd: Some(2.0), tokens: Some(500_000), ..BudgetLimits::default() };
/// assert_eq!(limits.turns, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BudgetLimits {
    /// The most dollars. A model whose price is not known cannot be used with it.
    pub usd: Option<f64>,
    /// The most tokens, sent and received.
    pub tokens: Option<u64>,
    /// The most turns. Has no meaning for a single turn.
    pub turns: Option<u64>,
    /// The longest time in which turns run.
    pub time: Option<Duration>,
}

/// Limits what a session and its parts may use.
///
/// ```
/// use robota_sdk::Budget;
///
/// let mut budget = Budget::default();
/// budget.set("usd=2.50")?;
/// budget.set("turn.tokens=200000")?;
/// assert_eq!(budget.turn.tokens, Some(200_000));
/// assert!(budget.set("turn.pages=3").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Budget {
    /// The limits of all turns of the session together, those of earlier processes, and of forks in
    /// this process, included.
    pub session: BudgetLimits,
    /// The limits of each turn. What agents use while it runs counts for it too.
    pub turn: BudgetLimits,
    /// The limits of each subagent. What it uses counts for the session and the running turns too.
    pub subagent: BudgetLimits,
}

impl Budget {
    /// Returns the budget of the settings.
    pub(crate) fn of_settings(settings: &SettingsFile) -> Self {
        let Some(budget) = &settings.budget else { return Self::default() };
        Self {
            session: BudgetLimits::of(&budget.session),
            turn: budget.turn.as_ref().map(BudgetLimits::of).unwrap_or_default(),
            subagent: budget.subagent.as_ref().map(BudgetLimits::of).unwrap_or_default(),
        }
    }

    /// Returns this budget, with the limits of another one where it has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            session: self.session.or(other.session),
            turn: self.turn.or(other.turn),
            subagent: self.subagent.or(other.subagent),
        }
    }

    /// Sets a limit from text: `usd=2.50`, `tokens=N`, `turns=N` or `seconds=N` for the session, with
    /// `turn.` or `subagent.` in front for each turn or subagent.
    ///
    /// # Errors
    /// If the text is no limit; the message is for users.
    pub fn set(&mut self, limit: &str) -> Result<(), String> {
        let unknown = || {
            format!(
                "`{limit}` is no limit; write usd=, tokens=, turns= or seconds= and a number above \
                 0, with turn. or subagent. in front for each turn or subagent"
            )
        };
        let (name, value) = limit.split_once('=').ok_or_else(unknown)?;
        let (part, name) = name.split_once('.').unwrap_or(("session", name));
        let limits = match part {
            "session" => &mut self.session,
            "turn" => &mut self.turn,
            "subagent" => &mut self.subagent,
            _ => return Err(unknown()),
        };
        let number = || value.trim().parse().ok().filter(|number: &u64| *number > 0);
        match name.trim() {
            "usd" => {
                let usd = value.trim().parse().ok();
                // NaN and infinity parse as numbers, and no use would ever reach them.
                let usd = usd.filter(|usd: &f64| usd.is_finite() && *usd > 0.0);
                limits.usd = Some(usd.ok_or_else(unknown)?);
            }
            "tokens" => limits.tokens = Some(number().ok_or_else(unknown)?),
            // `turn.turns` would always be one.
            "turns" if part != "turn" => limits.turns = Some(number().ok_or_else(unknown)?),
            "seconds" => {
                limits.time = Some(Duration::from_secs(number().ok_or_else(unknown)?));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// What was used of a budget.
///
/// ```
/// use robota_sdk::BudgetUse;
///
/// assert_eq!(BudgetUse::default().tokens, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BudgetUse {
    /// The price in dollars; calls of models without a known price count as nothing.
    pub usd: f64,
    /// All tokens that were sent and generated, over all calls.
    pub tokens: u64,
    /// The turns that started, without those whose prompt was refused; zero where the use of one turn is counted.
    pub turns: u64,
    /// The time in which turns ran.
    pub time: Duration,
}

impl BudgetLimits {
    fn of(settings: &LimitSettings) -> Self {
        Self {
            usd: settings.usd.map(|Amount(usd)| usd),
            tokens: settings.tokens.map(NonZeroU64::get),
            turns: settings.turns.map(NonZeroU64::get),
            time: settings.seconds.map(|seconds| Duration::from_secs(seconds.get())),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            usd: self.usd.or(other.usd),
            tokens: self.tokens.or(other.tokens),
            turns: self.turns.or(other.turns),
            time: self.time.or(other.time),
        }
    }

    /// Returns how much of each limit is in use.
    pub(super) fn shares(&self, used: &BudgetUse) -> Vec<Share> {
        let usd = self.usd.map(|limit| Share {
            limit: Limit::Usd,
            share: share(used.usd, limit),
            text: format!("${:.2} of ${limit:.2}", used.usd),
        });
        let tokens = self.tokens.map(|limit| Share {
            limit: Limit::Tokens,
            share: share(used.tokens as f64, limit as f64),
            text: format!("{} of {limit} tokens", used.tokens),
        });
        let turns = self.turns.map(|limit| Share {
            limit: Limit::Turns,
            share: share(used.turns as f64, limit as f64),
            text: format!("{} of {limit} turns", used.turns),
        });
        [usd, tokens, turns, self.time_share(used.time)].into_iter().flatten().collect()
    }

    /// Returns how much of the limit of the time is in use.
    pub(super) fn time_share(&self, used: Duration) -> Option<Share> {
        let (used, limit) = (used.as_secs_f64(), self.time?.as_secs_f64());
        let text = format!("{used:.0} of {limit:.0} s");
        Some(Share { limit: Limit::Time, share: share(used, limit), text })
    }

    /// Returns the limit of which most is in use.
    pub(super) fn nearest(&self, used: &BudgetUse) -> Option<Share> {
        self.shares(used).into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }
}

/// What a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Limit {
    Usd,
    Tokens,
    Turns,
    Time,
}

/// How much of a limit is in use.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Share {
    pub(super) limit: Limit,
    /// The share: 1 when the limit is reached.
    pub(super) share: f64,
    /// How it reads: `100 of 110 tokens`.
    pub(super) text: String,
}

/// Returns the share of a limit in use; a limit of zero is used up.
fn share(used: f64, limit: f64) -> f64 {
    if limit > 0.0 { used / limit } else { 1.0 }
}
