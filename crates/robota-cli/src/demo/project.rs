//! The throw-away project of the demonstration.

use std::path::PathBuf;

use anyhow::Context as _;

/// The check says by this file that it runs.
pub(super) const STARTED: &str = ".check-started";

const FILES: [(&str, &str); 2] = [
    (
        "greet.sh",
        "#!/bin/sh\n# Greets whoever is named.\nname=${1:-world}\necho \"Helo, $name!\"\n",
    ),
    (
        "check.sh",
        "#!/bin/sh\n# The first run takes its time: something is to happen in the middle of it.\nif [ ! -e .check-started ]; then\n  : > .check-started\n  sleep 60\nfi\nif [ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ]; then\n  echo \"all checks pass\"\nelse\n  echo \"greet.sh says: $(sh greet.sh Ada)\"\n  exit 1\nfi\n",
    ),
];

/// Makes it, in that folder or in a temporary one.
pub(super) fn make(dir: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match dir {
        Some(dir) => {
            std::fs::create_dir_all(&dir)
                .with_context(|| format!("cannot make the folder {}", dir.display()))?;
            let occupied = std::fs::read_dir(&dir)
                .with_context(|| format!("cannot look into {}", dir.display()))?
                .next()
                .is_some();
            anyhow::ensure!(!occupied, "{} is not empty; name another folder", dir.display());
            dir
        }
        None => tempfile::Builder::new()
            .prefix("robota-demo-")
            .tempdir()
            .context("cannot make a temporary folder")?
            .keep(),
    };
    for (name, text) in FILES {
        let path = dir.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(dir)
}
