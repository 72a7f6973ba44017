use super::*;
use crate::places::Places;

fn detect(names: &[&str]) -> ProjectFacts {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let reader = ContextReader::new(&Places::new(dir.path().join("none"), dir.path()));
    let facts = ProjectFacts::detect(&reader);
    assert_eq!(reader.counts().folders, 1);
    assert_eq!(reader.counts().files, 0);
    facts
}

#[test]
fn sdk_12_type_and_language_are_detected_by_file_names() {
    for (names, types, languages, tools) in [
        (&["Cargo.toml"][..], &["rust"][..], &["rust"][..], &["cargo"][..]),
        (&["package.json"], &["node"], &["javascript"], &[]),
        (
            &["package.json", "tsconfig.json", "pnpm-lock.yaml"],
            &["node"],
            &["typescript"],
            &["pnpm"],
        ),
        (&["pyproject.toml", "uv.lock"], &["python"], &["python"], &["uv"]),
        (&["go.mod", "Makefile"], &["go"], &["go"], &["go", "make"]),
        (&["App.csproj"], &["dotnet"], &["csharp"], &["dotnet"]),
        (&["README.md"], &[], &[], &[]),
        (&["Cargo.toml", "package.json"], &["rust", "node"], &["rust", "javascript"], &["cargo"]),
    ] {
        let facts = detect(names);
        assert_eq!(
            (&facts.types[..], &facts.languages[..], &facts.tools[..]),
            (types, languages, tools),
            "{names:?}"
        );
        assert!(!facts.git);
    }
}
