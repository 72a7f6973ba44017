use super::{DiffLine, between, counts, render, rows};
use crate::terminal::text::{Ground, Line, Role};

const OLD: &str = "def greet(name):\n    return \"Hello, \" + name\n\nprint(greet(\"world\"))\n";
const NEW: &str = "def greet(name):\n    # f-strings\n    return f\"Hello, {name}!\"\n\nprint(greet(\"world\"))\n";

fn plain(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.plain().trim_end().to_owned()).collect()
}

fn on(line: &Line, ground: Ground) -> String {
    let spans = line.0.iter().filter(|span| span.style.ground == ground);
    spans.map(|span| span.text.as_str()).collect()
}

#[test]
fn a_diff_has_numbers_signs_and_three_lines_around() {
    let long: String = (1..=20).map(|at| format!("line {at}\n")).collect();
    let changed = long.replace("line 10\n", "line ten\n").replace("line 19\n", "");
    let lines = between(&long, &changed);
    assert_eq!(counts(&lines), (1, 2));
    assert_eq!(
        plain(&render(&lines, None, 30)),
        [
            " 7   line 7",
            " 8   line 8",
            " 9   line 9",
            "10 - line 10",
            "10 + line ten",
            "11   line 11",
            "12   line 12",
            "13   line 13",
            "   ⋮",
            "16   line 16",
            "17   line 17",
            "18   line 18",
            "19 - line 19",
            "19   line 20",
        ]
    );
}

#[test]
fn changed_words_are_marked_and_the_language_is_coloured() {
    let lines = render(&between(OLD, NEW), Some("src/app.py"), 60);
    assert_eq!(plain(&lines)[1], "2 -     return \"Hello, \" + name");
    let removed = lines.iter().find(|line| line.plain().contains("2 -")).unwrap();
    assert_eq!(on(removed, Ground::RemovedWord), "\" + ");
    assert!(on(removed, Ground::Removed).contains("return"), "{removed:?}");
    let keyword = removed.0.iter().find(|span| span.text == "return").unwrap();
    assert_eq!(keyword.style.role, Role::Keyword);
    let added = lines.iter().find(|line| line.plain().contains("3 +")).unwrap();
    assert!(on(added, Ground::AddedWord).contains('f'), "{added:?}");
    assert_eq!(added.width(), 60, "the ground fills the row");
}

#[test]
fn long_lines_take_several_rows_and_nothing_is_cut() {
    let old = "a\n";
    let new = format!("a\n{}\n", "word ".repeat(30));
    let view = rows(&between(old, &new), None, 40);
    assert!(view.lines.iter().all(|line| line.width() <= 40));
    let text: String = plain(&view.lines)[1..].iter().map(|row| &row[4..]).collect();
    assert_eq!(text.replace(' ', ""), "word".repeat(30));
    assert_eq!(view.changes_from(0), 1);
    assert_eq!(view.changes_from(2), 0);
}

#[test]
fn a_view_knows_what_it_hides() {
    let old: String = (1..=100).map(|at| format!("line {at}\n")).collect();
    let new = old.replace("line 50\n", "fifty\n").replace("line 90\n", "ninety\n");
    let view = rows(&between(&old, &new), None, 40);
    assert_eq!(view.first_change(), 3);
    assert_eq!(view.changes_from(view.first_change()), 4);
    assert_eq!(view.changes_from(5), 2);
    assert_eq!(view.changes_above(5), 2);
    assert_eq!(view.changes_from(view.lines.len()), 0);
}

#[test]
fn tabs_and_control_characters_keep_the_marks_in_place() {
    let lines = between("\tif a {\n", "\tif b {\n");
    let rows = render(&lines, None, 40);
    assert_eq!(plain(&rows), ["1 -     if a {", "1 +     if b {"]);
    assert_eq!(on(&rows[0], Ground::RemovedWord), "a");
    assert_eq!(on(&rows[1], Ground::AddedWord), "b");
    let rows = render(&between("", "x\u{1b}[2Jy\n"), None, 40);
    assert_eq!(plain(&rows), ["1 + x␛[2Jy"]);
}

#[test]
fn large_diffs_are_rendered_without_word_marks() {
    let old: String = (0..5000).map(|at| format!("old {at}\n")).collect();
    let new: String = (0..5000).map(|at| format!("new {at}\n")).collect();
    let lines = between(&old, &new);
    assert_eq!(counts(&lines), (5000, 5000));
    let rows = render(&lines, Some("a.txt"), 80);
    assert_eq!(rows.len(), 10_000);
    assert!(matches!(lines[0], DiffLine::Hunk { .. }));
    assert!(rows.iter().all(|row| on(row, Ground::AddedWord).is_empty()));
}
