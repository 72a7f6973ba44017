//! The crash harness: runs sessions with all features on every store in a child process that is
//! killed at every failpoint, at every append and at random instants, and whose server is killed
//! too.
//!
//! ```console
//! $ cargo nextest run -p robota --test crash --no-capture
//! $ ROBOTA_CRASH_KILLS=1000 cargo nextest run -p robota --test crash --no-capture
//! ```
//!
//! `ROBOTA_CRASH_KILLS` sets the number of random kills, `ROBOTA_CRASH_SEED` selects them, and
//! `ROBOTA_CRASH_SERVER` sets how often the server is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "a test that starts itself again as a child")]

mod campaign;
mod case_store;
mod check;
mod child;
mod fixture;
mod scenario;

use campaign::{Counts, campaign};
use case_store::Kind;
use robota_store::failpoint;

/// The default number of random kills, for all stores together.
const KILLS: u32 = 60;
/// The default number of kills of the server. Every second one kills the child, too.
const SERVER_KILLS: u32 = 4;
/// The default seed.
const SEED: u64 = 20;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => default,
    }
}

/// The entry of child processes: does nothing unless the other test starts it.
#[test]
fn child_process_entry() {
    child::entry();
}

#[test]
fn kode_05_kode_12_sessions_survive_every_crash_on_every_store() {
    let seed = number("ROBOTA_CRASH_SEED", SEED);
    let kills = u32::try_from(number("ROBOTA_CRASH_KILLS", u64::from(KILLS))).unwrap();
    let server = number("ROBOTA_CRASH_SERVER", u64::from(SERVER_KILLS));
    let server = u32::try_from(server).unwrap();
    let share = kills.div_ceil(Kind::ALL.len() as u32);
    let counts = std::thread::scope(|scope| {
        let campaigns =
            Kind::ALL.map(|kind| scope.spawn(move || campaign(kind, seed, share, server)));
        campaigns.map(|campaign| match campaign.join() {
            Ok(counts) => counts,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    println!("{}", table(&counts, seed));
    // Without a server its counts are empty.
    let with_server = !counts[Kind::ALL.len() - 1].kills.is_empty();
    for (kind, counts) in Kind::ALL.iter().zip(&counts) {
        if *kind == Kind::Postgres && !with_server {
            continue;
        }
        for point in failpoint::POINTS.iter().filter(|point| kind.passes(point)) {
            assert!(
                counts.kills.contains_key(*point),
                "{} is never killed at {point}",
                kind.name()
            );
        }
        assert!(counts.random >= share, "{}: {} random kills", kind.name(), counts.random);
    }
    let killed = counts.iter().map(|counts| counts.server).sum::<u32>();
    assert!(killed > 0 || !with_server, "no server was killed");
}

/// Formats how often children were killed at which point.
fn table(counts: &[Counts; 3], seed: u64) -> String {
    let mut rows = vec![format!("{:34}", "kills")];
    rows[0].extend(Kind::ALL.iter().map(|kind| format!("{:>10}", kind.name())));
    let mut row = |name: &str, cell: &dyn Fn(Kind, &Counts) -> String| {
        let cells = Kind::ALL.iter().zip(counts).map(|(kind, counts)| cell(*kind, counts));
        let cells: String = cells.map(|cell| format!("{cell:>10}")).collect();
        rows.push(format!("{name:34}{cells}"));
    };
    for point in failpoint::POINTS {
        row(point, &|kind, counts| match counts.kills.get(*point) {
            Some(kills) => kills.to_string(),
            None if kind.passes(point) => "NONE".to_owned(),
            None => "-".to_owned(),
        });
    }
    row("random instants", &|_, counts| counts.random.to_string());
    row("the server itself", &|kind, counts| match kind {
        Kind::Postgres => counts.server.to_string(),
        Kind::Files | Kind::Sqlite => "-".to_owned(),
    });
    format!("\n{}\n(seed {seed})", rows.join("\n"))
}
