//! Kills children, and the database server, at every kind of point, and checks what they leave.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::journal::JournalStore;
use robota_store::{DurabilityLevel, failpoint};
use robota_testkit::postgres::PostgresServer;
use tokio::sync::OnceCell;

use crate::case_store::{CaseStore, Kind};
use crate::check::{Loss, check};
use crate::child::{Case, ChildProcess, HANGS, Kill, run_child};
use crate::scenario::{FULL, SCENARIOS};

/// How often children were killed on one store.
#[derive(Default)]
pub(crate) struct Counts {
    /// Kills by failpoint.
    pub(crate) kills: BTreeMap<String, u32>,
    pub(crate) random: u32,
    pub(crate) server: u32,
}

/// A pseudo-random number generator: the same seed gives the same numbers.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

impl Counts {
    fn add(&mut self, other: Self) {
        for (point, kills) in other.kills {
            *self.kills.entry(point).or_insert(0) += kills;
        }
        self.random += other.random;
        self.server += other.server;
    }
}

/// How many children use a server in parallel: they mostly wait for it.
const CLIENTS: u32 = 2;

/// Kills children on a store at every failpoint, at every append and at random instants, and kills
/// the server.
pub(crate) fn campaign(kind: Kind, seed: u64, kills: u32, server_kills: u32) -> Counts {
    let Kind::Postgres = kind else {
        let mut campaign = Campaign::new(kind, seed, "", 0);
        let runs = campaign.dry_runs();
        campaign.run(&runs, kills, 1);
        return campaign.counts;
    };
    let Some(mut server) = PostgresServer::start().unwrap() else { return Counts::default() };
    let address = &server.database().unwrap();
    let mut last = Campaign::new(kind, seed, address, CLIENTS);
    let runs = &last.dry_runs();
    std::thread::scope(|scope| {
        let parts = (0..CLIENTS).map(|part| {
            scope.spawn(move || {
                let mut campaign = Campaign::new(kind, seed, address, part);
                campaign.run(runs, kills.div_ceil(CLIENTS), CLIENTS);
                campaign.counts
            })
        });
        let parts: Vec<_> = parts.collect();
        for part in parts {
            match part.join() {
                Ok(counts) => last.counts.add(counts),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    for nth in 0..server_kills {
        let after = last.rng.below(runs[FULL].lines) as usize;
        last.run_server_kill(&mut server, after, nth % 2 == 0);
    }
    last.counts
}

/// A part of a campaign. Parts share the failpoints and appends among them.
struct Campaign {
    kind: Kind,
    seed: u64,
    rng: Rng,
    address: String,
    runtime: tokio::runtime::Runtime,
    /// The connection of the checks to a server, which all cases share.
    connected: OnceCell<Arc<dyn JournalStore>>,
    part: u32,
    cases: u32,
    counts: Counts,
}

/// The result of a scenario without a kill.
struct DryRun {
    lines: u64,
    /// How often it reaches each failpoint.
    hits: BTreeMap<String, u64>,
}

impl Campaign {
    fn new(kind: Kind, seed: u64, address: &str, part: u32) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rng = Rng(seed ^ (kind as u64) << 32 ^ u64::from(part) << 48);
        let (address, counts) = (address.to_owned(), Counts::default());
        let connected = OnceCell::new();
        Self { kind, seed, rng, address, runtime, connected, part, cases: 0, counts }
    }

    fn dry_runs(&mut self) -> Vec<DryRun> {
        (0..SCENARIOS.len()).map(|scenario| self.dry_run(scenario)).collect()
    }

    fn run(&mut self, runs: &[DryRun], kills: u32, parts: u32) {
        let kind = self.kind;
        let mine = |nth: u64| nth % u64::from(parts) == u64::from(self.part);
        let points = failpoint::POINTS.iter().filter(|point| kind.passes(point));
        let points: Vec<_> = (0..).zip(points).filter(|(nth, _)| mine(*nth)).collect();
        let every = kind.every_append();
        let appends = runs.iter().enumerate().filter(|(scenario, _)| *scenario != FULL);
        let appends =
            appends.flat_map(|(scenario, seen)| (1..=seen.hits[every]).map(move |n| (scenario, n)));
        let appends: Vec<_> = appends.filter(|(_, nth)| mine(*nth)).collect();
        for (_, point) in points {
            // In the shortest scenario that reaches it.
            let found = runs
                .iter()
                .enumerate()
                .find_map(|(scenario, seen)| seen.hits.get(*point).map(|times| (scenario, *times)));
            let Some((scenario, times)) = found else {
                panic!("{}: no session gets to {point}", kind.name())
            };
            let nth = 1 + self.rng.below(times);
            self.run_kills(
                scenario,
                &[Kill::At(format!("{point}:{nth}"))],
                DurabilityLevel::Barrier,
            );
        }
        for (scenario, nth) in appends {
            self.run_kills(
                scenario,
                &[Kill::At(format!("{every}:{nth}"))],
                DurabilityLevel::Barrier,
            );
        }
        while self.counts.random < kills {
            let scenario = self.rng.below(runs.len() as u64) as usize;
            self.kill_at_random(scenario, runs[scenario].lines);
        }
    }

    /// Kills a child at a random instant.
    fn kill_at_random(&mut self, scenario: usize, lines: u64) {
        let level = [DurabilityLevel::Strict, DurabilityLevel::Barrier, DurabilityLevel::Relaxed]
            [self.rng.below(3) as usize];
        let random = |rng: &mut Rng| Kill::After {
            lines: rng.below(lines) as usize,
            turns: rng.below(1 << 18) as u32,
        };
        let mut kills = vec![random(&mut self.rng)];
        // Some are killed a second time, partly during recovery.
        match self.rng.below(4) {
            0 => kills.push(random(&mut self.rng)),
            1 => {
                let nth = 1 + self.rng.below(8);
                kills.push(Kill::At(format!("{}:{nth}", self.kind.every_append())));
            }
            _ => {}
        }
        self.run_kills(scenario, &kills, level);
    }

    fn begin(&mut self, scenario: usize, level: DurabilityLevel) -> Case {
        self.cases += 1;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("crash-");
        // A kill does not lose pages of the kernel, so a file system in memory is enough, and fast.
        let folder = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()).unwrap();
        let case_store = CaseStore {
            kind: self.kind,
            level,
            address: self.address.clone(),
            folder: folder.path().to_path_buf(),
            prefix: format!("agent:case-{}-{}/", self.part, self.cases),
        };
        Case { scenario, case_store, folder }
    }

    /// Runs a scenario without a kill.
    fn dry_run(&mut self, scenario: usize) -> DryRun {
        let case = self.begin(scenario, DurabilityLevel::Barrier);
        let seen = run_child(&case, 1, &Kill::None);
        let checked = match &seen {
            Ok(_) => self.check(&case, Loss::Nothing),
            Err(error) => Err(error.clone()),
        };
        drop(self.finish(case, "a run without a kill", checked));
        let seen = seen.unwrap_or_else(|error| panic!("{error}"));
        let hits = seen.hits().map(|(point, hits)| (point.to_owned(), hits)).collect();
        let lines = seen.lines.iter().filter(|line| !line.starts_with("hits")).count() as u64;
        DryRun { lines, hits }
    }

    /// Runs children one after the other, each with its kill, and checks what they leave.
    fn run_kills(&mut self, scenario: usize, kills: &[Kill], level: DurabilityLevel) {
        let case = self.begin(scenario, level);
        let mut result = Ok(());
        for (run, kill) in (1..).zip(kills) {
            let killed = match run_child(&case, run, kill) {
                Ok(seen) => seen.killed,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            };
            match kill {
                Kill::At(point) if killed => {
                    let name = point.split(':').next().unwrap_or(point).to_owned();
                    *self.counts.kills.entry(name).or_insert(0) += 1;
                }
                Kill::At(point) if run == 1 => {
                    result = Err(format!("it did not reach {point}"));
                    break;
                }
                Kill::After { .. } if killed => self.counts.random += 1,
                // The child had exited before the kill.
                Kill::None | Kill::At(_) | Kill::After { .. } => {}
            }
        }
        let checked = result.and_then(|()| self.check(&case, Loss::Nothing));
        let words: Vec<_> = kills.iter().map(ToString::to_string).collect();
        let what = format!("scenario {scenario}, {}, {level:?}", words.join(", then "));
        drop(self.finish(case, &what, checked));
    }

    /// Kills the server after this many lines; the child waits for the server, or is killed too.
    fn run_server_kill(&mut self, server: &mut PostgresServer, after: usize, waits: bool) {
        let case = self.begin(FULL, DurabilityLevel::Barrier);
        let killed = kill_server(server, &case, after, waits);
        let checked = killed.and_then(|()| self.check(&case, Loss::AfterBarrier));
        self.counts.server += 1;
        let what = format!("the server killed after line {after}, its client waits: {waits}");
        drop(self.finish(case, &what, checked));
    }

    fn check(&self, case: &Case, loss: Loss) -> Result<(), String> {
        let case_store = &case.case_store;
        self.runtime.block_on(async {
            let checking = async {
                let open =
                    async || case_store.open().await.map_err(|error| format!("open: {error}"));
                let store = match self.kind {
                    Kind::Files | Kind::Sqlite => open().await?,
                    Kind::Postgres => self.connected.get_or_try_init(open).await?.clone(),
                };
                Box::pin(check(case_store, &store, loss)).await
            };
            match tokio::time::timeout(HANGS, Box::pin(checking)).await {
                Ok(checked) => checked,
                Err(_) => Err("the check hangs".to_owned()),
            }
        })
    }

    /// Panics if the check failed, with everything that is needed to repeat it.
    fn finish(&self, case: Case, what: &str, result: Result<(), String>) -> Case {
        let Err(error) = result else { return case };
        let Case { case_store, folder, .. } = case;
        let kept: PathBuf = folder.keep();
        panic!(
            "{error}\n  store: {}, case {}-{} ({what})\n  repeat with: ROBOTA_CRASH_SEED={}\n  what is \
             left: {} ({} lines reported)",
            self.kind.name(),
            self.part,
            self.cases,
            self.seed,
            kept.display(),
            case_store.reported().lines().len(),
        );
    }
}

fn kill_server(
    server: &mut PostgresServer,
    case: &Case,
    after: usize,
    waits: bool,
) -> Result<(), String> {
    let mut child = ChildProcess::begin(case, 1, None, waits);
    for _ in 0..after {
        child.next()?;
    }
    server.kill()?;
    if waits {
        let failed = child.until("failed")?;
        server.restart()?;
        if failed.is_some() {
            child.resume();
        }
    } else {
        child.kill();
        server.restart()?;
        // It may have failed because the server was killed before it.
        drop(child.end());
        return Ok(());
    }
    child.end().map(drop)
}
