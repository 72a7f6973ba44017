//! Pictures of the terminal program for the documentation: runs the real program on a pseudo
//! terminal against a scripted model and draws the screen.

mod svg;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bench::{Place, Programs};
use crate::pty::Pty;

/// Where the pictures are.
const FOLDER: &str = "docs/screens";
const LIMIT: Duration = Duration::from_secs(10);

/// One picture.
struct Scene {
    name: &'static str,
    /// Columns and rows.
    size: (u16, u16),
    /// What the model answers.
    model: &'static str,
    steps: &'static [Step],
}

enum Step {
    /// Types these keys.
    Type(&'static str),
    /// Waits until the program has drawn this text after the last keys.
    See(&'static str),
}
use Step::{See, Type};

const SCENES: &[Scene] = &[
    Scene {
        name: "conversation",
        size: (100, 30),
        model: include_str!("screens/conversation.yaml"),
        steps: &[Type("What does greet do?\r"), See("Run it with")],
    },
    Scene {
        name: "approval",
        size: (100, 30),
        model: include_str!("screens/approval.yaml"),
        steps: &[Type("Greet people in Chinese too.\r"), See("question"), See("always")],
    },
    Scene {
        name: "commands",
        size: (100, 24),
        model: "- Done.\n",
        steps: &[See("›"), Type("/co"), See("context")],
    },
    Scene {
        name: "help",
        size: (100, 40),
        model: "- Done.\n",
        steps: &[See("›"), Type("?"), See("Ctrl")],
    },
];

const PROGRAM: &str =
    "def greet(name):\n    return \"Hello, \" + name\n\nprint(greet(\"world\"))\n";

/// Draws all scenes whose name contains `filter`. Builds the programs unless `built` contains them.
pub fn draw(root: &Path, built: Option<&Path>, filter: Option<&str>) -> Result<()> {
    let programs = Programs::find_or_build(root, built)?;
    std::fs::create_dir_all(root.join(FOLDER))?;
    for scene in SCENES.iter().filter(|it| filter.is_none_or(|part| it.name.contains(part))) {
        let place = Place::new(&programs.folder, &programs.target.join("screens"))?;
        let drawn = scene.draw(&place).with_context(|| format!("the scene `{}`", scene.name))?;
        let file = format!("{FOLDER}/{}.svg", scene.name);
        std::fs::write(root.join(&file), drawn)?;
        println!("{file}");
    }
    Ok(())
}

impl Scene {
    fn draw(&self, place: &Place) -> Result<String> {
        let source = place.project.join("src");
        std::fs::create_dir_all(&source)?;
        std::fs::write(source.join("app.py"), PROGRAM)?;
        let model = place.model(self.model)?;
        let mut env = place.env(&model.first_line).to_vec();
        env.extend([("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
        let words = [place.robota.as_str(), "--provider", "anthropic", "--model", "mock-model"];
        let mut pty = Pty::start(&place.project, &words, &env, self.size)?;
        let mut from = 0;
        for step in self.steps {
            match step {
                Type(keys) => {
                    from = pty.printed();
                    pty.type_keys(keys)?;
                }
                See(text) => {
                    let seen = pty.wait_since(from, text, LIMIT);
                    ensure!(seen.is_some(), "no `{text}` on the screen:\n{}", pty.tail());
                }
            }
        }
        pty.wait_until_quiet(Duration::from_millis(300));
        Ok(svg::draw(pty.screen(self.size)?.screen()))
    }
}
