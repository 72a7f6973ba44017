//! What git runs besides itself. Only subcommands that are known are covered by an allow rule:
//! any other name may be an alias, or a program that git finds for it.

use super::danger::{abbreviates, is_running_option};
use super::word::Word;

/// Subcommands that keep to the repository, apart from the options below.
const KNOWN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "backfill",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "fetch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "init",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-tree",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-objects",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Options, of any subcommand, that run something or write somewhere else.
const OPTIONS: &[&str] = &[
    "--textconv",
    "--output",
    "--template",
    "--config",
    "--filters",
    "--sequence-editor",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--show-signature",
    "--index-output",
    "--export-marks",
    "--import-marks",
    "--unsafe-paths",
    "--separate-git-dir",
    "--file",
    "--strategy",
    "--edit",
    "--in-place",
    "--scheduler",
];

/// Why a git command must be asked about although a rule allows it.
pub(super) fn of_git(args: &[Word]) -> Option<String> {
    let found = |flag: &str| Some(format!("`git {flag}` can run another program"));
    let mut sub: Option<String> = None;
    let mut operands = Vec::new();
    let mut i = 0;
    while let Some(word) = args.get(i) {
        i += 1;
        let Some(text) = word.value() else {
            let optional = sub.is_none() || (word.has_var() && !word.raw.starts_with('"'));
            if word.may_be_flag() && optional {
                return Some("an option of `git` is not known before it runs".into());
            }
            continue;
        };
        let flag = text.split('=').next().unwrap_or(&text);
        let Some(name) = sub.as_deref() else {
            if !text.starts_with('-') {
                sub = Some(text);
                continue;
            }
            // Before the subcommand.
            match flag {
                "-C" | "--namespace" | "--super-prefix" => i += 1,
                "--no-pager"
                | "-P"
                | "--no-replace-objects"
                | "--bare"
                | "--literal-pathspecs"
                | "--glob-pathspecs"
                | "--noglob-pathspecs"
                | "--icase-pathspecs"
                | "--no-optional-locks"
                | "--no-lazy-fetch"
                | "--no-advice"
                | "--version"
                | "--help"
                | "-h"
                | "-v"
                | "--html-path"
                | "--man-path"
                | "--info-path" => {}
                _ => return found(flag),
            }
            continue;
        };
        if text == "--" {
            break;
        }
        if let Some(long) = flag.strip_prefix("--") {
            let harmless = matches!(long, "no-edit" | "exec-path")
                || (name == "commit" && long == "file")
                || (long == "edit" && matches!(name, "commit" | "merge" | "revert" | "tag"))
                || (long == "strategy" && ours(&text, args.get(i)));
            if !harmless
                && (OPTIONS.iter().any(|known| *known == flag || abbreviates(flag, known))
                    || is_running_option(long))
            {
                return found(flag);
            }
            continue;
        }
        if let Some(cluster) = text.strip_prefix('-') {
            let has = |c: char| cluster.contains(c);
            let runs = match name {
                "rebase" | "difftool" => has('x'),
                "clone" => cluster.starts_with(['u', 'c']),
                "grep" => cluster.starts_with('O'),
                "ls-remote" | "fetch-pack" => has('u'),
                "config" => cluster.starts_with('f') || cluster.starts_with('e'),
                "replace" | "branch" => name == "replace" && has('e'),
                "merge" | "cherry-pick" | "revert" | "pull" => {
                    cluster.starts_with('s') && !ours(cluster, args.get(i))
                }
                _ => false,
            };
            if runs {
                return found(&format!("{name} {text}"));
            }
            continue;
        }
        if remote_helper(&text) {
            return found("ext::");
        }
        operands.push(text);
    }
    let name = sub?;
    if !KNOWN.contains(&name.as_str()) {
        return found(&name);
    }
    let first = operands.first().map(String::as_str);
    match (name.as_str(), first) {
        ("bisect", Some("run"))
        | ("submodule", Some("foreach"))
        | ("maintenance", Some("start" | "register" | "stop" | "unregister"))
        | ("bisect", Some("visualize" | "view"))
        | ("notes", Some("edit")) => found(&format!("{name} {}", first.unwrap_or_default())),
        ("config", Some("edit" | "set" | "unset" | "rename-section" | "remove-section")) => {
            found("config")
        }
        // Setting a value: aliases, pagers and hooks are values.
        ("config", Some(_))
            if operands.len() >= 2 && !args.iter().any(|w| w.raw.starts_with("--get")) =>
        {
            (first != Some("get") && first != Some("list")).then(|| found("config")).flatten()
        }
        _ => None,
    }
}

/// A strategy that is part of git.
fn ours(flag: &str, next: Option<&Word>) -> bool {
    let value = match flag.split_once('=') {
        Some((_, value)) => value.to_owned(),
        None if flag.len() > 1 && !flag.starts_with('-') => flag[1..].to_owned(),
        None => next.and_then(Word::value).unwrap_or_default(),
    };
    matches!(
        value.as_str(),
        "ours" | "theirs" | "ort" | "recursive" | "resolve" | "octopus" | "subtree"
    )
}

/// `ext::sh -c id`: any word before `::` names a program `git-remote-…`.
fn remote_helper(text: &str) -> bool {
    text.split_once("::").is_some_and(|(kind, _)| {
        !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}
