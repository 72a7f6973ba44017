//! Draws the pictures of `docs/screens`: the program on a pseudo terminal, against a scripted model.
//! `pictures/scenes.txt` lists them. `cargo xtask screens` runs this.

mod svg;

use std::path::Path;
use std::time::Duration;

use robota_testkit::mock::{MockServer, Scenario};

use crate::home::{Home, stderr};
use crate::pty::{KEY, Start};

const MODEL: [&str; 4] = ["--provider", "anthropic", "--model", "mock-model"];
const PROGRAM: &str =
    "def greet(name):\n    return \"Hello, \" + name\n\nprint(greet(\"world\"))\n";
/// When nothing was printed for this long, the screen is complete.
const QUIET: Duration = Duration::from_millis(800);

#[tokio::test]
#[ignore = "it writes docs/screens; run `cargo xtask screens`"]
async fn pictures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens");
    let part = std::env::var("ROBOTA_PICTURE").unwrap_or_default();
    for scene in include_str!("pictures/scenes.txt").split("\n\n").skip(1) {
        let (head, steps) = scene.split_once('\n').unwrap();
        let [name, size, model] = head.split(' ').collect::<Vec<_>>()[..] else {
            panic!("`{head}` is not `NAME COLUMNSxROWS MODEL`");
        };
        if name.contains(&part) {
            let picture = draw(size, model, steps).await;
            std::fs::write(folder.join(name).with_extension("svg"), picture).unwrap();
        }
    }
}

async fn draw(size: &str, model: &str, steps: &str) -> String {
    let home = Home::in_folder("/tmp");
    home.write("home/demo/src/app.py", PROGRAM);
    home.write("home/demo/.git/HEAD", "ref: refs/heads/main\n");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/pictures");
    let mock = MockServer::start(Scenario::load(&folder.join(model)).unwrap()).await.unwrap();
    let (origin, project) = (mock.origin(), home.path("home/demo"));
    for prompt in steps.lines().filter_map(|step| step.strip_prefix("earlier ")) {
        let mut command = home.command(&[&["-p", prompt][..], &MODEL].concat());
        command.current_dir(&project);
        command.env("ANTHROPIC_BASE_URL", &origin).env("ANTHROPIC_API_KEY", KEY);
        let output = tokio::process::Command::from(command).output().await.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (columns, rows) = size.split_once('x').unwrap();
    let start = Start::robota(&home, &MODEL).model(&origin).var("COLORTERM", "truecolor");
    let size = (columns.parse().unwrap(), rows.parse().unwrap());
    let mut terminal = start.folder(project).size(size.0, size.1).start();
    terminal.until_text("ready").await;
    for step in steps.lines() {
        match step.split_once(' ').unwrap_or((step, "")) {
            ("earlier", _) => {}
            ("type", keys) => {
                terminal.type_keys(&keys.replace(r"\r", "\r").replace(r"\b", "\u{2}"));
            }
            ("answerable", "") => terminal.until_answerable().await,
            ("see", text) => terminal.until_text(text).await,
            _ => panic!("`{step}` is not a step"),
        }
    }
    while tokio::time::timeout(QUIET, terminal.changed.changed()).await.is_ok() {}
    let picture = svg::draw(terminal.parser.lock().unwrap().screen());
    // As long as the path of this machine, so that the columns stay.
    picture.replace(home.path("").display().to_string().trim_end_matches('/'), "/home/developer")
}
