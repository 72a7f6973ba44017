use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use robota_core::paths::{PathKind, Paths};
use robota_core::permission::{Class, Verdict};
use serde_json::json;

use super::{is_plain_choice, names_programs};
use crate::{Policy, PolicySpec, ToolCall, Workspace};

/// Files with their texts; folders are implied.
struct Files(BTreeMap<PathBuf, &'static str>);

impl Paths for Files {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        Some(crate::workspace::normal(path))
    }

    fn kind(&self, path: &Path) -> PathKind {
        match self.0.keys().find(|file| file.starts_with(path)) {
            Some(file) if file == path => PathKind::File,
            Some(_) => PathKind::Dir,
            None => PathKind::Missing,
        }
    }

    fn entries(&self, _dir: &Path) -> Vec<String> {
        Vec::new()
    }

    fn case_sensitive(&self, _path: &Path) -> bool {
        true
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.0.get(path).map(|text| (*text).to_owned()).filter(|text| text != "unreadable")
    }
}

fn free(files: &[(&str, &'static str)]) -> bool {
    let files = Files(files.iter().map(|(path, text)| (PathBuf::from(path), *text)).collect());
    let (policy, _) = Policy::new(&PolicySpec::new(Workspace::new("/w/app", "/home/u")), &files);
    let input = json!({ "command": "git status" });
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    policy.judge(&call, &files).verdict == Verdict::Allow
}

const PLAIN: &str = "[core]\n\tbare = false";
const EVIL: &str = "[diff \"x\"]\n\ttextconv = ./evil";

#[test]
fn git_is_free_only_where_the_repository_names_no_programs() {
    assert!(free(&[("/w/app/.git/config", PLAIN)]));
    assert!(free(&[("/w/app/.git/config", PLAIN), ("/w/app/.git/info/attributes", "\n")]));
    assert!(free(&[("/w/app/.git", "gitdir: sub/git"), ("/w/app/sub/git/config", PLAIN)]));
    assert!(free(&[("/w/.git/config", PLAIN), ("/w/app/a.txt", "")]), "below a repository");
    for files in [
        &[("/w/app/.git/config", EVIL)][..],
        &[("/w/app/.git/config", "unreadable")],
        &[("/w/app/.git/config", PLAIN), ("/w/app/.git/config.worktree", EVIL)],
        &[("/w/app/.git/config", PLAIN), ("/w/app/.git/info/attributes", "* diff=x")],
        &[("/w/app/.git/config", PLAIN), ("/w/app/.git/commondir", "/tmp/other")],
        // A file that leads outside the workspace, nowhere, or to settings that name programs.
        &[("/w/app/.git", "gitdir: /tmp/evil"), ("/tmp/evil/config", PLAIN)],
        &[("/w/app/.git", "gitdir: ../evil"), ("/w/evil/config", PLAIN)],
        &[("/w/app/.git", "not a repository")],
        &[("/w/app/.git", "gitdir: sub/git"), ("/w/app/sub/git/config", EVIL)],
        &[("/w/app/.git", "gitdir: sub/git"), ("/w/app/sub/git/info/attributes", "* diff=x")],
        &[("/w/app/.git", "gitdir: sub/git"), ("/w/app/sub/git/commondir", "/tmp/evil")],
        // A workspace, or a folder above it, with the files of a bare repository.
        &[
            ("/w/app/HEAD", "ref: refs/heads/main"),
            ("/w/app/objects/x", ""),
            ("/w/app/config", PLAIN),
        ],
        &[("/w/HEAD", "ref: refs/heads/main"), ("/w/objects/x", ""), ("/w/app/a.txt", "")],
        &[("/w/.git/config", EVIL), ("/w/app/a.txt", "")],
    ] {
        assert!(!free(files), "{files:?}");
    }
}

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
