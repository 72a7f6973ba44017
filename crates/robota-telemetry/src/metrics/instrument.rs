//! The instruments and their OpenTelemetry names.

/// Names a counter or histogram. Names with `gen_ai.` and their bucket boundaries are those of the
/// OpenTelemetry semantic conventions for generative AI; names with `robota.` are specific to
/// Robota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instrument {
    /// Sessions created; resumed ones are not counted again.
    Sessions,
    /// Turns, by how they ended.
    Turns,
    /// How long turns took, in seconds.
    TurnDuration,
    /// Rounds: model calls without their retries.
    Rounds,
    /// Model calls, every attempt; with `error.type` when it failed.
    ModelCalls,
    /// How long model calls took, in seconds, to the last piece of the stream.
    ModelCallDuration,
    /// Model calls that failed and were tried again.
    ModelRetries,
    /// Input and output tokens of each answer.
    Tokens,
    /// Parts of these tokens: read from a cache, written to one, reasoning.
    TokenDetails,
    /// Tool calls, by tool, outcome and class.
    ToolCalls,
    /// How long the tool calls that ran took.
    ToolDuration,
    /// Permission requests that were shown to a user.
    PermissionsAsked,
    /// Permission decisions, by verdict and decider.
    PermissionsDecided,
    /// Compactions, by trigger; with `error.type` when one failed.
    Compactions,
}

// The boundaries that the conventions advise for `gen_ai.client.operation.duration`.
const SECONDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
// Turns wait for tools and people, so these begin and end later.
const TURN_SECONDS: &[f64] =
    &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
// The boundaries that the conventions advise for `gen_ai.client.token.usage`: powers of 4.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

impl Instrument {
    /// Lists all instruments, in the order of the enum.
    pub const ALL: [Self; 14] = [
        Self::Sessions,
        Self::Turns,
        Self::TurnDuration,
        Self::Rounds,
        Self::ModelCalls,
        Self::ModelCallDuration,
        Self::ModelRetries,
        Self::Tokens,
        Self::TokenDetails,
        Self::ToolCalls,
        Self::ToolDuration,
        Self::PermissionsAsked,
        Self::PermissionsDecided,
        Self::Compactions,
    ];

    /// Returns the name, the unit (UCUM), the description, and the bucket boundaries (empty for a
    /// counter).
    fn row(self) -> (&'static str, &'static str, &'static str, &'static [f64]) {
        match self {
            Self::Sessions => ("robota.sessions", "{session}", "Sessions created.", &[]),
            Self::Turns => ("robota.turns", "{turn}", "Turns, by how they ended.", &[]),
            Self::TurnDuration => (
                "gen_ai.invoke_agent.duration",
                "s",
                "Duration of a turn, from its start to its end.",
                TURN_SECONDS,
            ),
            Self::Rounds => ("robota.rounds", "{round}", "Rounds of turns.", &[]),
            Self::ModelCalls => {
                ("robota.model.calls", "{call}", "Model calls, every attempt counted.", &[])
            }
            Self::ModelCallDuration => {
                ("gen_ai.client.operation.duration", "s", "GenAI operation duration.", SECONDS)
            }
            Self::ModelRetries => {
                ("robota.model.retries", "{retry}", "Model calls that were tried again.", &[])
            }
            Self::Tokens => (
                "gen_ai.client.token.usage",
                "{token}",
                "Number of input and output tokens used.",
                TOKENS,
            ),
            Self::TokenDetails => (
                "robota.token.details",
                "{token}",
                "Parts of the tokens used: cache_read, cache_write, reasoning.",
                &[],
            ),
            Self::ToolCalls => {
                ("robota.tool.calls", "{call}", "Tool calls, those that did not run included.", &[])
            }
            Self::ToolDuration => (
                "gen_ai.execute_tool.duration",
                "s",
                "The duration of a single tool execution.",
                SECONDS,
            ),
            Self::PermissionsAsked => {
                ("robota.permissions.asked", "{request}", "Permission requests shown.", &[])
            }
            Self::PermissionsDecided => {
                ("robota.permissions.decided", "{decision}", "Permission decisions.", &[])
            }
            Self::Compactions => {
                ("robota.compactions", "{compaction}", "Compactions of conversations.", &[])
            }
        }
    }

    /// Returns the name under which OpenTelemetry exports it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns its unit (UCUM).
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.row().1
    }

    /// Returns what the instrument measures, for dashboards.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.row().2
    }

    /// Returns the upper bounds of its buckets; empty for a counter.
    #[must_use]
    pub fn bounds(self) -> &'static [f64] {
        self.row().3
    }

    pub(super) fn zero(self) -> Value {
        match self.bounds() {
            [] => Value::Sum(0),
            bounds => Value::Histogram(Histogram {
                bounds,
                buckets: vec![0; bounds.len() + 1],
                sum: 0.0,
                // The neutral elements, so that the first value replaces both and `merge` needs no
                // case for empty.
                min: f64::INFINITY,
                max: f64::NEG_INFINITY,
            }),
        }
    }
}

/// Holds the value of a time series.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The total of a counter since the first event.
    Sum(u64),
    /// How the recorded values are distributed.
    Histogram(Histogram),
}

/// Counts values by their size.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The upper bounds of the buckets, inclusive; the last bucket has none.
    pub bounds: &'static [f64],
    /// The number of values in each bucket; there is one more bucket than bounds.
    pub buckets: Vec<u64>,
    /// The sum of all values, in the unit of the instrument.
    pub sum: f64,
    /// The smallest value; infinity if there are no values.
    pub min: f64,
    /// The largest value; minus infinity if there are no values.
    pub max: f64,
}

impl Histogram {
    /// Returns the number of values, which is the sum of the buckets.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl Value {
    /// Returns the total of a counter, or the number of values of a histogram.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Sum(sum) => *sum,
            Self::Histogram(histogram) => histogram.count(),
        }
    }

    pub(super) fn add(&mut self, count: u64) {
        match self {
            Self::Sum(sum) => *sum = sum.saturating_add(count),
            // A counter and a histogram never share a key, because the instrument decides which it
            // is.
            Self::Histogram(_) => {}
        }
    }

    pub(super) fn record(&mut self, value: f64) {
        let Self::Histogram(histogram) = self else { return };
        // Bounds are inclusive, as OTLP defines them: a value equal to a bound belongs to its
        // bucket.
        let bucket = histogram.bounds.partition_point(|bound| *bound < value);
        histogram.buckets[bucket] += 1;
        histogram.sum += value;
        histogram.min = histogram.min.min(value);
        histogram.max = histogram.max.max(value);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        match (self, other) {
            // Both have the bounds of the same instrument, so the buckets correspond.
            (Self::Histogram(into), Self::Histogram(from)) => {
                for (into, from) in into.buckets.iter_mut().zip(&from.buckets) {
                    *into += from;
                }
                into.sum += from.sum;
                into.min = into.min.min(from.min);
                into.max = into.max.max(from.max);
            }
            (into, from) => into.add(from.count()),
        }
    }
}
