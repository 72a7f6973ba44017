use super::*;

#[test]
fn only_missing_packages_are_installed_or_named() {
    let table = &[("initdb", "postgresql"), ("bwrap", "bubblewrap")];
    assert!(missing(table, |_| true).is_empty());
    let packages = missing(table, |program| program == "bwrap");
    assert_eq!(packages, ["postgresql"]);
    let text = advice(&packages, true);
    assert_eq!(text, "missing: postgresql; install with: sudo apt-get install -y postgresql");
    assert!(advice(&packages, false).contains("postgresql (Debian's names)"));
}
