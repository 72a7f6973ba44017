use super::{is_plain_choice, names_programs};

#[test]
fn settings_that_name_programs_are_found() {
    for config in [
        "[filter \"x\"]\n\tclean = ./evil",
        "[FILTER \"x\"] process=./evil",
        "[diff \"x\"]\ntextconv = evil",
        "[diff]\n external = evil",
        "[include]\npath = /tmp/x",
        "[includeIf \"gitdir:/\"]\npath = x",
        "[filter.x]\nsmudge = evil",
    ] {
        assert!(names_programs(config), "{config}");
    }
    for config in [
        "[core]\n\trepositoryformatversion = 0\n\tbare = false",
        "[remote \"origin\"]\n\turl = https://example.com/x.git",
        "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true",
        "[diff]\n\tnoprefix = true\n[core]\n\thooksPath = .husky",
    ] {
        assert!(!names_programs(config), "{config}");
    }
}

#[test]
fn a_version_is_a_plain_choice() {
    assert!(is_plain_choice("rust-toolchain.toml", "[toolchain]\nchannel = \"1.90\""));
    assert!(!is_plain_choice("rust-toolchain.toml", "[toolchain]\npath = \"./x\""));
    assert!(!is_plain_choice("mise.toml", "[tools]"));
}
