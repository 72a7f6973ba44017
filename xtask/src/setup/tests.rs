use super::*;

#[test]
fn only_missing_packages_are_installed_or_named() {
    let table = &[("initdb", "postgresql"), ("bwrap", "bubblewrap")];
    assert!(missing(table, |_| true).is_empty());
    let packages = missing(table, |program| program == "bwrap");
    assert_eq!(packages, ["postgresql"]);
    let text = "missing: postgresql; on Debian install with: sudo apt-get install -y postgresql";
    assert_eq!(advice(&packages), text);
}
