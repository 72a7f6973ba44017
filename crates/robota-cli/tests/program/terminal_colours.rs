//! Colours of help, errors and progress on a terminal that is not that of the terminal program.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::Home;
use crate::pty::{Start, Terminal};

/// Returns whether the start of the first row with this text has a colour or a weight of its own.
fn is_styled(screen: &vt100::Screen, text: &str) -> bool {
    let rows: Vec<_> = screen.rows(0, screen.size().1.get()).collect();
    let Some(row) = rows.iter().position(|row| row.starts_with(text)) else { return false };
    let cell = screen.cell(u16::try_from(row).unwrap(), 0).unwrap();
    cell.bold() || cell.dim() || cell.fgcolor() != vt100::Color::Default
}

async fn ends(start: Start) -> Terminal {
    let mut terminal = start.size(200, 200).start();
    terminal.end().await;
    terminal
}

#[tokio::test]
async fn cli_03_help_and_errors_have_colours_on_a_terminal_unless_the_user_forbids_them() {
    let home = Home::new();
    for (args, text) in [
        (&["demo", "--help"][..], "Usage:"),
        (&["-p", "hi", "--provider", "nothing"], "robota:"),
        (&["-p", "hi", "--max-turns", "many"], "error:"),
    ] {
        let mut terminal = ends(Start::robota(&home, args)).await;
        terminal.until(|screen, _| is_styled(screen, text)).await;
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let mut terminal = ends(Start::robota(&home, args).var(name, value)).await;
            terminal.until(|_, shown| shown.lines().any(|line| line.starts_with(text))).await;
            terminal.until(|screen, _| !is_styled(screen, text)).await;
        }
    }
}

#[tokio::test]
async fn cli_03_a_run_on_a_terminal_shows_its_calls() {
    let home = Home::new();
    let call = Reply::new().tool("Bash", json!({"command": "echo one"}));
    let mock = MockServer::start(Scenario::reply(call).then("Done.")).await.unwrap();
    let args = ["-p", "go", "--dangerously-skip-permissions"];
    let mut terminal = ends(Start::robota(&home, &args).model(&mock.origin())).await;
    terminal.until_text("robota: Bash echo one").await;
    terminal.until(|screen, _| is_styled(screen, "robota: Bash")).await;
    terminal.until_text("Done.").await;
}
