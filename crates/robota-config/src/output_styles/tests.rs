use super::*;
use crate::places::Places;

#[test]
fn styles_are_found_in_all_folders_by_priority() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (path, text) in [
        ("p/.robota/output-styles/a.md", "---\nname: A\n---\nrobota"),
        ("p/.claude/output-styles/a.md", "---\nname: A\n---\nclaude"),
        (
            "p/.claude/output-styles/b.md",
            "---\ndescription: d: e\nkeep-coding-instructions: yes\n---\nb",
        ),
        ("h/.robota/output-styles/b.md", "user"),
        ("h/.claude/output-styles/c.md", "---\nforce-for-plugin: true\n---\nc"),
        ("h/.claude/output-styles/empty.md", " "),
        ("h/.claude/output-styles/deep/d.md", "deep"),
    ] {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    std::fs::write(root.join("h/.claude/output-styles/huge.md"), "x".repeat(100_000)).unwrap();
    let styles =
        OutputStyles::load(&ContextReader::new(&Places::new(root.join("h"), root.join("p"))));
    let found: Vec<_> =
        styles.iter().map(|style| (style.name.as_str(), style.text.as_str())).collect();
    assert_eq!(found, [("A", "robota"), ("b", "b"), ("c", "c")]);
    let b = styles.get("b").unwrap();
    assert_eq!((b.description.as_deref(), b.keep_coding_instructions), (Some("d: e"), true));
    assert!(styles.get("c").unwrap().force_for_plugin);
    assert!(
        styles
            .report
            .problems
            .iter()
            .any(|problem| problem.to_string().contains("huge.md: not read"))
    );
}
