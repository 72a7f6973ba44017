use super::*;

const TABLE: &[(&str, &str)] = &[("psql", "postgresql"), ("pg_ctl", "postgresql"), ("git", "git")];

#[test]
fn nothing_is_done_when_nothing_is_missing() {
    let missing = missing(TABLE, |_| true);
    for machine in [Machine::DebianRoot, Machine::DebianUser, Machine::Other] {
        assert_eq!(plan(&missing, machine), Plan::Nothing);
    }
}

#[test]
fn each_missing_package_is_installed_once_as_root() {
    let missing = missing(TABLE, |program| program == "git");
    assert_eq!(plan(&missing, Machine::DebianRoot), Plan::Install(vec!["postgresql"]));
}

#[test]
fn others_are_told_exactly_what_to_install() {
    let missing = missing(TABLE, |_| false);
    let Plan::Tell(advice) = plan(&missing, Machine::DebianUser) else { panic!() };
    assert_eq!(
        advice,
        "not on the PATH: psql, pg_ctl, git; install with: sudo apt-get install -y git postgresql"
    );
    let Plan::Tell(advice) = plan(&missing, Machine::Other) else { panic!() };
    assert!(advice.contains("psql, pg_ctl, git"), "{advice}");
}

#[test]
fn what_is_only_wanted_is_found_in_the_folder_of_any_version() {
    let folder = tempfile::tempdir().unwrap();
    let folders: &'static str = folder.path().display().to_string().leak();
    let wanted = Wanted {
        program: "no-such-program",
        folders: Some(folders),
        package: "p",
        without: "nothing happens",
    };
    assert!(!wanted.is_here());
    let advice = get(&wanted, Machine::DebianUser).unwrap_err().to_string();
    assert!(advice.contains("sudo apt-get install -y p"), "{advice}");
    std::fs::create_dir_all(folder.path().join("15/bin")).unwrap();
    std::fs::write(folder.path().join("15/bin/no-such-program"), "").unwrap();
    assert!(wanted.is_here());
}
