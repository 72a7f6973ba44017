use super::*;

fn count(line: &str) -> usize {
    check(&Tree::of(&[("docs/guide.md", line)])).len()
}

#[test]
fn machine_paths_are_found_in_any_file() {
    for prefix in PREFIXES {
        assert_eq!(count(&format!("cd {prefix}main")), 1);
        assert_eq!(count(&format!("\"{prefix}x\"")), 1);
        assert_eq!(count(&format!("{prefix}x")), 1);
    }
}

#[test]
fn relative_paths_are_fine() {
    for prefix in PREFIXES {
        assert_eq!(count(&format!("src{prefix}x ~{prefix}x ..{prefix}x ${{HOME}}{prefix}x")), 0);
    }
    assert_eq!(count("/workspace/x and /rooted/x"), 0);
}
