//! Joins the files of `data/vendors`, so that a new vendor is one file and no list names it.

use std::fs;
use std::io::Result;
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new("data/vendors");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    let texts = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>>>()?;
    #[expect(clippy::disallowed_methods, reason = "cargo tells build scripts where to write")]
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("vendors.json"), format!("[{}]", texts.join(",")))
}
