//! Pictures of the terminal program for the documentation: runs the real program on a pseudo
//! terminal against a scripted model and draws the screen.

mod svg;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bench::{Place, Programs};
use crate::pty::Pty;
use crate::sh;

/// Where the pictures are.
const FOLDER: &str = "docs/screens";
const LIMIT: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(800);

/// One picture.
struct Scene {
    name: &'static str,
    /// Columns and rows.
    size: (u16, u16),
    /// What the model answers.
    model: &'static str,
    /// The prompts of earlier sessions.
    earlier: &'static [&'static str],
    /// What happens first, after the program is ready.
    before: &'static [Step],
    steps: &'static [Step],
}

enum Step {
    /// Types these keys.
    Type(&'static str),
    /// Waits until the screen shows this text.
    See(&'static str),
    /// Waits until nothing moves, so that a question takes keys.
    Quiet,
}
use Step::{Quiet, See, Type};

const PLAIN: Scene = Scene {
    name: "",
    size: (100, 12),
    model: "loop: true\nanswers: [Done.]\n",
    earlier: &[],
    before: &[],
    steps: &[],
};
/// A question and its answer.
const TALK: Scene = Scene {
    model: include_str!("screens/conversation.yaml"),
    before: &[Type("What does greet do?\r"), See("Run it with"), See("ready")],
    ..PLAIN
};
/// A change that waits for approval.
const CHANGE: Scene = Scene {
    size: (100, 16),
    model: include_str!("screens/approval.yaml"),
    before: &[Type("Greet people in Chinese too.\r"), See("always")],
    ..PLAIN
};
/// The same change, approved.
const APPROVED: Scene = Scene {
    before: &[
        Type("Greet people in Chinese too.\r"),
        See("always"),
        Quiet,
        Type("y"),
        See("Done."),
        See("ready"),
    ],
    ..CHANGE
};

const SCENES: &[Scene] = &[
    Scene { name: "conversation", size: (100, 24), ..TALK },
    Scene { name: "approval", size: (100, 19), ..CHANGE },
    Scene {
        name: "rule",
        size: (100, 14),
        model: include_str!("screens/command.yaml"),
        before: &[Type("Install it.\r"), See("always"), Quiet],
        steps: &[Type("e"), See("would also allow")],
        ..PLAIN
    },
    Scene { name: "commands", steps: &[Type("/co"), See("context")], ..PLAIN },
    Scene { name: "help", size: (100, 40), steps: &[Type("?"), See("Ctrl")], ..PLAIN },
    Scene {
        name: "rewind",
        steps: &[Type("/rewind\r"), See("1 file changed"), Type("\r"), See("differ")],
        ..APPROVED
    },
    Scene { name: "context", steps: &[Type("/context\r"), See("free")], ..TALK },
    Scene {
        name: "sessions",
        earlier: &[
            "Find out why the greeting is wrong in Chinese",
            "Write tests for src/app.py",
            "Explain how greet() is used",
        ],
        steps: &[Type("/resume\r"), See("1/"), Type("gre"), See("1/2")],
        ..PLAIN
    },
    Scene {
        name: "background",
        model: include_str!("screens/background.yaml"),
        before: &[
            Type("Start the server, review the parser and list the tests.\r"),
            See("Wants to run"),
            Quiet,
            Type("y"),
            See("two agents work"),
            See("ready"),
        ],
        steps: &[Type("\u{2}"), See("done")],
        ..PLAIN
    },
    Scene {
        name: "diff",
        steps: &[Type("/diff\r"), See("+3"), Type("\r"), See("你好")],
        ..APPROVED
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
        // The pictures show no path of this machine.
        let folder = place.home().join("demo");
        let source = folder.join("src");
        std::fs::create_dir_all(&source)?;
        std::fs::write(source.join("app.py"), PROGRAM)?;
        std::fs::create_dir_all(folder.join(".git"))?;
        std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        let model = place.model(self.model)?;
        let mut env = place.env(&model.first_line).to_vec();
        env.extend([("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]);
        let words = [place.robota.as_str(), "--provider", "anthropic", "--model", "mock-model"];
        for prompt in self.earlier {
            sh::read(&folder, &[&words[..], &["-p", *prompt][..]].concat(), &env)?;
        }
        let mut pty = Pty::start(&folder, &words, &env, self.size)?;
        for step in [See("ready")].iter().chain(self.before).chain(self.steps) {
            match step {
                Type(keys) => pty.type_keys(keys)?,
                Quiet => pty.wait_until_quiet(QUIET),
                See(text) => {
                    let shown = pty.wait_for_screen(self.size, LIMIT, |it| it.contains(text))?;
                    ensure!(shown.contains(text), "no `{text}` on the screen:\n{shown}");
                }
            }
        }
        pty.wait_until_quiet(QUIET);
        Ok(svg::draw(pty.screen(self.size)?.screen()))
    }
}
