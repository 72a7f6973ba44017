//! The crash harness: sessions with everything in them, on every store, whose process is killed
//! at every failpoint, at every append and at random instants, and whose server is killed too.
//!
//! ```console
//! $ cargo nextest run -p robota --test crash --no-capture
//! $ ROBOTA_CRASH_KILLS=1000 cargo nextest run -p robota --test crash --no-capture
//! ```
//!
//! `ROBOTA_CRASH_KILLS` says how many random kills there are in all, `ROBOTA_CRASH_SEED` which, and
//! `ROBOTA_CRASH_SERVER` how often the server is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "a test that starts itself again as a child")]

mod campaign;
mod check;
mod life;
mod place;
mod scene;
mod stage;

use campaign::{Column, campaign};
use place::Kind;
use robota_store::failpoint;

/// Random kills in all, unless somebody wants more.
const KILLS: u32 = 60;
/// Deaths of the server, unless somebody wants more: every other one takes the child along.
const SERVER_DEATHS: u32 = 4;
/// The seed of a run that names none, so that it can be told from any other.
const SEED: u64 = 20;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => default,
    }
}

/// Does nothing unless the other test starts it.
#[test]
fn the_child_of_the_other_test() {
    life::child();
}

#[test]
fn kode_05_kode_12_sessions_survive_every_crash_on_every_store() {
    let seed = number("ROBOTA_CRASH_SEED", SEED);
    let kills = u32::try_from(number("ROBOTA_CRASH_KILLS", u64::from(KILLS))).unwrap();
    let server = number("ROBOTA_CRASH_SERVER", u64::from(SERVER_DEATHS));
    let server = u32::try_from(server).unwrap();
    let share = kills.div_ceil(Kind::ALL.len() as u32);
    let columns = std::thread::scope(|scope| {
        let campaigns =
            Kind::ALL.map(|kind| scope.spawn(move || campaign(kind, seed, share, server)));
        campaigns.map(|campaign| match campaign.join() {
            Ok(column) => column,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    println!("{}", table(&columns, seed));
    // Without a server its column is empty.
    let with_server = !columns[Kind::ALL.len() - 1].deaths.is_empty();
    for (kind, column) in Kind::ALL.iter().zip(&columns) {
        if *kind == Kind::Postgres && !with_server {
            continue;
        }
        for point in failpoint::POINTS.iter().filter(|point| kind.passes(point)) {
            assert!(column.deaths.contains_key(*point), "{} never dies at {point}", kind.name());
        }
        assert!(column.random >= share, "{}: {} random kills", kind.name(), column.random);
    }
    let killed = columns.iter().map(|column| column.server).sum::<u32>();
    assert!(killed > 0 || !with_server, "no server was killed");
}

/// How often a child died where.
fn table(columns: &[Column; 3], seed: u64) -> String {
    let mut rows = vec![format!("{:34}", "deaths")];
    rows[0].extend(Kind::ALL.iter().map(|kind| format!("{:>10}", kind.name())));
    let mut row = |name: &str, cell: &dyn Fn(Kind, &Column) -> String| {
        let cells = Kind::ALL.iter().zip(columns).map(|(kind, column)| cell(*kind, column));
        let cells: String = cells.map(|cell| format!("{cell:>10}")).collect();
        rows.push(format!("{name:34}{cells}"));
    };
    for point in failpoint::POINTS {
        row(point, &|kind, column| match column.deaths.get(*point) {
            Some(deaths) => deaths.to_string(),
            None if kind.passes(point) => "NONE".to_owned(),
            None => "-".to_owned(),
        });
    }
    row("random instants", &|_, column| column.random.to_string());
    row("the server itself", &|kind, column| match kind {
        Kind::Postgres => column.server.to_string(),
        Kind::Files | Kind::Sqlite => "-".to_owned(),
    });
    format!("\n{}\n(seed {seed})", rows.join("\n"))
}
