//! All the deaths of one store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::journal::JournalStore;
use robota_store::{DurabilityLevel, failpoint};
use robota_testkit::postgres::PostgresServer;
use tokio::sync::OnceCell;

use crate::check::{Loss, check};
use crate::life::{Death, HANGS, Life, Trial, live};
use crate::place::{Kind, Place};
use crate::scene::{ACTS, WHOLE};

/// What one store went through.
#[derive(Default)]
pub(crate) struct Column {
    /// By failpoint.
    pub(crate) deaths: BTreeMap<String, u32>,
    pub(crate) random: u32,
    pub(crate) server: u32,
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.throw() % end.max(1)
    }
}

impl Column {
    fn add(&mut self, other: Self) {
        for (point, deaths) in other.deaths {
            *self.deaths.entry(point).or_insert(0) += deaths;
        }
        self.random += other.random;
        self.server += other.server;
    }
}

/// How many work on a server at once: it lets its clients wait more than work.
const CLIENTS: u32 = 2;

/// All deaths of a store: every failpoint, every append, so many random kills, and so many of the
/// server.
pub(crate) fn campaign(kind: Kind, seed: u64, kills: u32, server_deaths: u32) -> Column {
    let Kind::Postgres = kind else {
        let mut campaign = Campaign::new(kind, seed, "", 0);
        let acts = campaign.rehearsals();
        campaign.run(&acts, kills, 1);
        return campaign.column;
    };
    let Some(mut server) = PostgresServer::start().unwrap() else { return Column::default() };
    let address = &server.database().unwrap();
    let mut last = Campaign::new(kind, seed, address, CLIENTS);
    let acts = &last.rehearsals();
    std::thread::scope(|scope| {
        let parts = (0..CLIENTS).map(|part| {
            scope.spawn(move || {
                let mut campaign = Campaign::new(kind, seed, address, part);
                campaign.run(acts, kills.div_ceil(CLIENTS), CLIENTS);
                campaign.column
            })
        });
        let parts: Vec<_> = parts.collect();
        for part in parts {
            match part.join() {
                Ok(column) => last.column.add(column),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    for nth in 0..server_deaths {
        let after = last.dice.below(acts[WHOLE].lines) as usize;
        last.server_dies(&mut server, after, nth % 2 == 0);
    }
    last.column
}

/// A part of a campaign; parts take turns at the appends.
struct Campaign {
    kind: Kind,
    seed: u64,
    dice: Dice,
    address: String,
    runtime: tokio::runtime::Runtime,
    /// Our own connections to a server; they last.
    connected: OnceCell<Arc<dyn JournalStore>>,
    part: u32,
    trials: u32,
    column: Column,
}

/// What was seen of an act without a death.
struct Rehearsal {
    lines: u64,
    /// How often it passes each failpoint.
    hits: BTreeMap<String, u64>,
}

impl Campaign {
    fn new(kind: Kind, seed: u64, address: &str, part: u32) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let dice = Dice(seed ^ (kind as u64) << 32 ^ u64::from(part) << 48);
        let (address, column) = (address.to_owned(), Column::default());
        let connected = OnceCell::new();
        Self { kind, seed, dice, address, runtime, connected, part, trials: 0, column }
    }

    fn rehearsals(&mut self) -> Vec<Rehearsal> {
        (0..ACTS.len()).map(|act| self.rehearse(act)).collect()
    }

    fn run(&mut self, acts: &[Rehearsal], kills: u32, parts: u32) {
        let kind = self.kind;
        let mine = |nth: u64| nth % u64::from(parts) == u64::from(self.part);
        let points = failpoint::POINTS.iter().filter(|point| kind.passes(point));
        let points: Vec<_> = (0..).zip(points).filter(|(nth, _)| mine(*nth)).collect();
        let every = kind.every_append();
        let appends = acts.iter().enumerate().filter(|(act, _)| *act != WHOLE);
        let appends = appends.flat_map(|(act, seen)| (1..=seen.hits[every]).map(move |n| (act, n)));
        let appends: Vec<_> = appends.filter(|(_, nth)| mine(*nth)).collect();
        for (_, point) in points {
            // In the shortest act that gets there.
            let found = acts
                .iter()
                .enumerate()
                .find_map(|(act, seen)| seen.hits.get(*point).map(|times| (act, *times)));
            let Some((act, times)) = found else {
                panic!("{}: no session gets to {point}", kind.name())
            };
            let nth = 1 + self.dice.below(times);
            self.die(act, &[Death::At(format!("{point}:{nth}"))], DurabilityLevel::Barrier);
        }
        for (act, nth) in appends {
            self.die(act, &[Death::At(format!("{every}:{nth}"))], DurabilityLevel::Barrier);
        }
        while self.column.random < kills {
            let act = self.dice.below(acts.len() as u64) as usize;
            self.die_somewhere(act, acts[act].lines);
        }
    }

    /// A death at an instant that nobody chose.
    fn die_somewhere(&mut self, act: usize, lines: u64) {
        let level = [DurabilityLevel::Strict, DurabilityLevel::Barrier, DurabilityLevel::Relaxed]
            [self.dice.below(3) as usize];
        let somewhere = |dice: &mut Dice| Death::After {
            lines: dice.below(lines) as usize,
            turns: dice.below(1 << 18) as u32,
        };
        let mut deaths = vec![somewhere(&mut self.dice)];
        // Some die again, and some of those while they recover.
        match self.dice.below(4) {
            0 => deaths.push(somewhere(&mut self.dice)),
            1 => {
                let nth = 1 + self.dice.below(8);
                deaths.push(Death::At(format!("{}:{nth}", self.kind.every_append())));
            }
            _ => {}
        }
        self.die(act, &deaths, level);
    }

    fn begin(&mut self, act: usize, level: DurabilityLevel) -> Trial {
        self.trials += 1;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("crash-");
        // A kill takes no page from the kernel, so memory will do, and is fast.
        let folder = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()).unwrap();
        let place = Place {
            kind: self.kind,
            level,
            address: self.address.clone(),
            folder: folder.path().to_path_buf(),
            prefix: format!("agent:trial-{}-{}/", self.part, self.trials),
        };
        Trial { act, place, folder }
    }

    /// An act without a death.
    fn rehearse(&mut self, act: usize) -> Rehearsal {
        let trial = self.begin(act, DurabilityLevel::Barrier);
        let seen = live(&trial, 1, &Death::None);
        let checked = match &seen {
            Ok(_) => self.check(&trial, Loss::Nothing),
            Err(error) => Err(error.clone()),
        };
        drop(self.judge(trial, "a life without a death", checked));
        let seen = seen.unwrap_or_else(|error| panic!("{error}"));
        let hits = seen.hits().map(|(point, hits)| (point.to_owned(), hits)).collect();
        let lines = seen.lines.iter().filter(|line| !line.starts_with("hits")).count() as u64;
        Rehearsal { lines, hits }
    }

    /// Lives that end so, one after the other; what they leave must hold.
    fn die(&mut self, act: usize, deaths: &[Death], level: DurabilityLevel) {
        let trial = self.begin(act, level);
        let mut result = Ok(());
        for (life, death) in (1..).zip(deaths) {
            let killed = match live(&trial, life, death) {
                Ok(seen) => seen.killed,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            };
            match death {
                Death::At(point) if killed => {
                    let name = point.split(':').next().unwrap_or(point).to_owned();
                    *self.column.deaths.entry(name).or_insert(0) += 1;
                }
                Death::At(point) if life == 1 => {
                    result = Err(format!("it did not get to {point}"));
                    break;
                }
                Death::After { .. } if killed => self.column.random += 1,
                // One that was over before we came.
                Death::None | Death::At(_) | Death::After { .. } => {}
            }
        }
        let checked = result.and_then(|()| self.check(&trial, Loss::Nothing));
        let words: Vec<_> = deaths.iter().map(ToString::to_string).collect();
        let what = format!("act {act}, {}, {level:?}", words.join(", then "));
        drop(self.judge(trial, &what, checked));
    }

    /// The server is killed after so many lines, and its client with it or not.
    fn server_dies(&mut self, server: &mut PostgresServer, after: usize, patient: bool) {
        let trial = self.begin(WHOLE, DurabilityLevel::Barrier);
        let died = kill_server(server, &trial, after, patient);
        let checked = died.and_then(|()| self.check(&trial, Loss::AfterBarrier));
        self.column.server += 1;
        let what = format!("the server killed after line {after}, its client patient: {patient}");
        drop(self.judge(trial, &what, checked));
    }

    fn check(&self, trial: &Trial, loss: Loss) -> Result<(), String> {
        let place = &trial.place;
        self.runtime.block_on(async {
            let looking = async {
                let open = async || place.open().await.map_err(|error| format!("open: {error}"));
                let store = match self.kind {
                    Kind::Files | Kind::Sqlite => open().await?,
                    Kind::Postgres => self.connected.get_or_try_init(open).await?.clone(),
                };
                Box::pin(check(place, &store, loss)).await
            };
            match tokio::time::timeout(HANGS, Box::pin(looking)).await {
                Ok(checked) => checked,
                Err(_) => Err("the check hangs".to_owned()),
            }
        })
    }

    /// Fails with everything that is needed to see it again.
    fn judge(&self, trial: Trial, what: &str, result: Result<(), String>) -> Trial {
        let Err(error) = result else { return trial };
        let Trial { place, folder, .. } = trial;
        let kept: PathBuf = folder.keep();
        panic!(
            "{error}\n  store: {}, trial {}-{} ({what})\n  again: ROBOTA_CRASH_SEED={}\n  what is \
             left: {} ({} lines told)",
            self.kind.name(),
            self.part,
            self.trials,
            self.seed,
            kept.display(),
            place.told().lines().len(),
        );
    }
}

fn kill_server(
    server: &mut PostgresServer,
    trial: &Trial,
    after: usize,
    patient: bool,
) -> Result<(), String> {
    let mut child = Life::begin(trial, 1, None, patient);
    for _ in 0..after {
        child.next()?;
    }
    server.kill()?;
    if patient {
        let failed = child.until("failed")?;
        server.restart()?;
        if failed.is_some() {
            child.go_on();
        }
    } else {
        child.kill();
        server.restart()?;
        // It may have failed because the server was gone before it was killed itself.
        drop(child.end());
        return Ok(());
    }
    child.end().map(drop)
}
