//! The project that the demo works on.

use std::path::PathBuf;

use anyhow::Context as _;

/// The file that check.sh creates when it starts.
pub(super) const STARTED: &str = ".check-started";

const FILES: [(&str, &str); 2] = [
    ("greet.sh", "#!/bin/sh\n# Greets the given name.\nname=${1:-world}\necho \"Helo, $name!\"\n"),
    (
        "check.sh",
        "#!/bin/sh\n# The first run takes a minute, so that the demo can crash in the middle of it.\nif [ ! -e .check-started ]; then\n  : > .check-started\n  sleep 60\nfi\nif [ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ]; then\n  echo \"all checks pass\"\nelse\n  echo \"greet.sh says: $(sh greet.sh Ada)\"\n  exit 1\nfi\n",
    ),
];

/// Creates the project in the given empty folder, or in a temporary one.
pub(super) fn create(dir: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match dir {
        Some(dir) => {
            std::fs::create_dir_all(&dir)
                .with_context(|| format!("cannot create the folder {}", dir.display()))?;
            let occupied = std::fs::read_dir(&dir)
                .with_context(|| format!("cannot read the folder {}", dir.display()))?
                .next()
                .is_some();
            // The demo writes files, and must not replace any.
            anyhow::ensure!(
                !occupied,
                "--dir {}: the folder is not empty; choose another one",
                dir.display()
            );
            dir
        }
        None => tempfile::Builder::new()
            .prefix("robota-demo-")
            .tempdir()
            .context("cannot create a temporary folder")?
            // Kept after the demo, whose last lines invite the user to look at it.
            .keep(),
    };
    for (name, text) in FILES {
        let path = dir.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(dir)
}
