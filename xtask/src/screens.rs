//! Pictures of the terminal program for the documentation: runs the real program on a pseudo
//! terminal against a scripted model and draws the screen. `screens/scenes.txt` lists the pictures.

mod svg;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::bench::{MODEL, Place};

/// Where the pictures are.
const FOLDER: &str = "docs/screens";
/// Where the scenes and the answers of their models are.
const SCENES: &str = "xtask/src/screens";
const LIMIT: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(800);

const PROGRAM: &str =
    "def greet(name):\n    return \"Hello, \" + name\n\nprint(greet(\"world\"))\n";

/// Draws all scenes whose name contains `filter`. Builds the programs unless `built` contains them.
pub fn draw(root: &Path, built: Option<&Path>, filter: Option<&str>) -> Result<()> {
    let mut place = Place::prepare(root, built, "screens")?;
    // The pictures show no path of this machine.
    place.project = place.home().join("demo");
    std::fs::create_dir_all(root.join(FOLDER))?;
    let scenes = std::fs::read_to_string(root.join(SCENES).join("scenes.txt"))?;
    for scene in scenes.split("\n\n").filter(|scene| !scene.starts_with('#')) {
        let name = scene.split(' ').next().unwrap_or_default();
        if filter.is_none_or(|part| name.contains(part)) {
            place.clear()?;
            let drawn = draw_scene(root, &place, scene);
            let file = format!("{FOLDER}/{name}.svg");
            std::fs::write(root.join(&file), drawn.with_context(|| file.clone())?)?;
            println!("{file}");
        }
    }
    Ok(())
}

fn draw_scene(root: &Path, place: &Place, scene: &str) -> Result<String> {
    let (head, steps) = scene.split_once('\n').context("no steps")?;
    let [_, size, model] = head.split(' ').collect::<Vec<_>>()[..] else {
        bail!("`{head}` is not `NAME COLUMNSxROWS MODEL`");
    };
    let (columns, rows) = size.split_once('x').context("a size without an x")?;
    for (file, text) in [("src/app.py", PROGRAM), (".git/HEAD", "ref: refs/heads/main\n")] {
        let file = place.project.join(file);
        std::fs::create_dir_all(file.parent().context("no folder")?)?;
        std::fs::write(file, text)?;
    }
    let model = std::fs::read_to_string(root.join(SCENES).join(model))?;
    let model = place.model(&model)?;
    for prompt in steps.lines().filter_map(|step| step.strip_prefix("earlier ")) {
        place.succeed(&[&["-p", prompt][..], &MODEL].concat(), &model.first_line)?;
    }
    let mut pty = place.on_terminal(&model, &[], (columns.parse()?, rows.parse()?))?;
    for step in ["see ready"].into_iter().chain(steps.lines()) {
        match step.split_once(' ').unwrap_or((step, "")) {
            ("earlier", _) => {}
            ("type", keys) => pty.type_keys(&keys.replace(r"\r", "\r").replace(r"\b", "\u{2}"))?,
            ("quiet", "") => pty.wait_until_quiet(QUIET),
            ("see", text) => {
                let shown = pty.wait_for_screen(text, LIMIT);
                ensure!(shown.contains(text), "no `{text}` on the screen:\n{shown}");
            }
            _ => bail!("`{step}` is not a step"),
        }
    }
    pty.wait_until_quiet(QUIET);
    Ok(svg::draw(pty.screen()))
}
