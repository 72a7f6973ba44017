//! The part of git that only looks.

use super::word::Word;
use super::wrappers::cluster_len;

/// A subcommand and the options under which it only looks.
struct Sub {
    name: &'static str,
    short: &'static str,
    short_val: &'static str,
    long: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Revisions and files.
    Any,
    /// None: with one it would create or change something.
    Nothing,
    /// The first word must be one of these.
    First(&'static [&'static str]),
}

/// Options of everything that shows differences.
const DIFF: &[&str] = &[
    "stat",
    "numstat",
    "shortstat",
    "dirstat",
    "name-only",
    "name-status",
    "summary",
    "patch",
    "no-patch",
    "cached",
    "staged",
    "merge-base",
    "color",
    "no-color",
    "word-diff",
    "color-words",
    "ignore-all-space",
    "ignore-space-change",
    "ignore-blank-lines",
    "ignore-space-at-eol",
    "unified",
    "diff-filter",
    "find-renames",
    "find-copies",
    "no-renames",
    "raw",
    "minimal",
    "patience",
    "histogram",
    "check",
    "full-index",
    "binary",
    "abbrev",
    "exit-code",
    "quiet",
    "relative",
    "text",
    "function-context",
    "no-ext-diff",
    "no-textconv",
    "submodule",
    "compact-summary",
    "inter-hunk-context",
    "cc",
    "combined-all-paths",
    "root",
    // Of logs.
    "oneline",
    "graph",
    "decorate",
    "no-decorate",
    "all",
    "branches",
    "tags",
    "remotes",
    "author",
    "committer",
    "grep",
    "since",
    "until",
    "after",
    "before",
    "max-count",
    "skip",
    "format",
    "pretty",
    "date",
    "reverse",
    "follow",
    "merges",
    "no-merges",
    "first-parent",
    "topo-order",
    "date-order",
    "abbrev-commit",
    "no-abbrev-commit",
    "left-right",
    "cherry-pick",
    "cherry-mark",
    "no-walk",
    "simplify-by-decoration",
    "ancestry-path",
    "all-match",
    "invert-grep",
    "regexp-ignore-case",
    "extended-regexp",
    "fixed-strings",
    "perl-regexp",
    "relative-date",
    "show-notes",
    "notes",
    "boundary",
    "parents",
    "children",
    "not",
    "exclude",
    "source",
    "use-mailmap",
    "no-mailmap",
    "full-history",
    "dense",
    "sparse",
    "pickaxe-all",
    "pickaxe-regex",
    "walk-reflogs",
    "count",
    "min-parents",
    "max-parents",
    "no-expand-tabs",
];

const SUBS: &[Sub] = &[
    Sub {
        name: "status",
        short: "sbuvz",
        short_val: "",
        long: &[
            "short",
            "branch",
            "porcelain",
            "long",
            "verbose",
            "untracked-files",
            "ignored",
            "ahead-behind",
            "no-ahead-behind",
            "renames",
            "no-renames",
            "show-stash",
            "column",
            "ignore-submodules",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "log",
        short: "pusmcgziEFPqwbRt",
        short_val: "nSGLUCMDlWX",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "diff",
        short: "pusmcziqwbRaW",
        short_val: "SGUCMDlX",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "show",
        short: "pusmcziqwbRtW",
        short_val: "nSGUCMDlX",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "whatchanged",
        short: "pusmc",
        short_val: "n",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "shortlog",
        short: "snec",
        short_val: "w",
        long: &[
            "summary",
            "numbered",
            "email",
            "committer",
            "group",
            "since",
            "until",
            "all",
            "no-merges",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "diff-tree",
        short: "prtsmcvz",
        short_val: "",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "diff-index",
        short: "prtsmcvz",
        short_val: "",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "diff-files",
        short: "prtsmcvz",
        short_val: "",
        long: DIFF,
        operands: Operands::Any,
    },
    Sub {
        name: "blame",
        short: "lsteEwfncpbM",
        short_val: "LC",
        long: &[
            "porcelain",
            "line-porcelain",
            "show-name",
            "show-number",
            "show-email",
            "date",
            "since",
            "abbrev",
            "root",
            "first-parent",
            "color-lines",
            "color-by-age",
            "incremental",
        ],
        operands: Operands::Any,
    },
    Sub { name: "annotate", short: "lse", short_val: "L", long: &[], operands: Operands::Any },
    Sub {
        name: "branch",
        short: "ravliq",
        short_val: "",
        long: &[
            "list",
            "all",
            "remotes",
            "verbose",
            "show-current",
            "contains",
            "no-contains",
            "merged",
            "no-merged",
            "sort",
            "format",
            "points-at",
            "color",
            "no-color",
            "column",
            "no-column",
            "abbrev",
            "ignore-case",
        ],
        operands: Operands::Nothing,
    },
    Sub {
        name: "tag",
        short: "ln",
        short_val: "",
        long: &[
            "list",
            "contains",
            "no-contains",
            "merged",
            "no-merged",
            "sort",
            "format",
            "points-at",
            "column",
            "color",
        ],
        operands: Operands::Nothing,
    },
    Sub {
        name: "remote",
        short: "v",
        short_val: "",
        long: &["verbose", "all", "push"],
        operands: Operands::First(&["get-url"]),
    },
    Sub {
        name: "stash",
        short: "pu",
        short_val: "",
        long: &["stat", "name-only", "patch", "oneline", "include-untracked"],
        operands: Operands::First(&["list", "show"]),
    },
    Sub {
        name: "worktree",
        short: "vz",
        short_val: "",
        long: &["porcelain", "verbose"],
        operands: Operands::First(&["list"]),
    },
    Sub {
        name: "submodule",
        short: "",
        short_val: "",
        long: &["recursive", "cached", "quiet"],
        operands: Operands::First(&["status"]),
    },
    Sub {
        name: "reflog",
        short: "n",
        short_val: "n",
        long: &["all", "date", "oneline", "format", "pretty", "max-count"],
        operands: Operands::First(&["show", "exists", "list"]),
    },
    Sub {
        name: "config",
        short: "lz",
        short_val: "",
        long: &[
            "get",
            "get-all",
            "get-regexp",
            "get-urlmatch",
            "list",
            "show-origin",
            "show-scope",
            "name-only",
            "global",
            "local",
            "system",
            "worktree",
            "null",
            "type",
            "default",
            "bool",
            "int",
            "path",
            "includes",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "rev-parse",
        short: "q",
        short_val: "",
        long: &[
            "abbrev-ref",
            "show-toplevel",
            "git-dir",
            "short",
            "verify",
            "is-inside-work-tree",
            "is-bare-repository",
            "show-prefix",
            "show-cdup",
            "symbolic",
            "symbolic-full-name",
            "quiet",
            "all",
            "branches",
            "tags",
            "git-common-dir",
            "absolute-git-dir",
            "show-superproject-working-tree",
            "is-shallow-repository",
            "is-inside-git-dir",
            "show-object-format",
            "revs-only",
            "no-revs",
            "default",
        ],
        operands: Operands::Any,
    },
    Sub { name: "rev-list", short: "n", short_val: "n", long: DIFF, operands: Operands::Any },
    Sub {
        name: "ls-files",
        short: "zcdmosktvuif",
        short_val: "x",
        long: &[
            "cached",
            "deleted",
            "modified",
            "others",
            "ignored",
            "stage",
            "unmerged",
            "killed",
            "directory",
            "exclude-standard",
            "full-name",
            "error-unmatch",
            "eol",
            "recurse-submodules",
            "deduplicate",
            "exclude",
            "abbrev",
            "format",
            "no-empty-directory",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "ls-tree",
        short: "drtlz",
        short_val: "",
        long: &[
            "name-only",
            "name-status",
            "long",
            "full-name",
            "full-tree",
            "abbrev",
            "format",
            "object-only",
        ],
        operands: Operands::Any,
    },
    Sub { name: "cat-file", short: "tsep", short_val: "", long: &[], operands: Operands::Any },
    Sub {
        name: "describe",
        short: "",
        short_val: "",
        long: &[
            "tags",
            "all",
            "always",
            "dirty",
            "broken",
            "long",
            "abbrev",
            "match",
            "exclude",
            "exact-match",
            "contains",
            "candidates",
            "first-parent",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "merge-base",
        short: "a",
        short_val: "",
        long: &["all", "is-ancestor", "octopus", "independent", "fork-point"],
        operands: Operands::Any,
    },
    Sub {
        name: "name-rev",
        short: "",
        short_val: "",
        long: &["tags", "name-only", "always", "refs"],
        operands: Operands::Any,
    },
    Sub {
        name: "show-ref",
        short: "sdq",
        short_val: "",
        long: &[
            "head",
            "tags",
            "heads",
            "branches",
            "hash",
            "verify",
            "quiet",
            "abbrev",
            "dereference",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "for-each-ref",
        short: "",
        short_val: "",
        long: &[
            "format",
            "sort",
            "count",
            "contains",
            "merged",
            "no-merged",
            "points-at",
            "ignore-case",
            "exclude",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "check-ignore",
        short: "vqnz",
        short_val: "",
        long: &["verbose", "quiet", "non-matching", "no-index"],
        operands: Operands::Any,
    },
    Sub {
        name: "check-attr",
        short: "az",
        short_val: "",
        long: &["all", "cached"],
        operands: Operands::Any,
    },
    Sub {
        name: "grep",
        short: "aiIwvhHlLnEFGPcqpWzor",
        short_val: "eABCm",
        long: &[
            "ignore-case",
            "word-regexp",
            "line-number",
            "files-with-matches",
            "name-only",
            "files-without-match",
            "count",
            "extended-regexp",
            "fixed-strings",
            "perl-regexp",
            "cached",
            "untracked",
            "no-index",
            "show-function",
            "function-context",
            "only-matching",
            "break",
            "heading",
            "max-depth",
            "and",
            "or",
            "not",
            "all-match",
            "quiet",
            "column",
            "color",
            "no-color",
            "max-count",
            "recursive",
            "text",
            "invert-match",
        ],
        operands: Operands::Any,
    },
    Sub {
        name: "cherry",
        short: "v",
        short_val: "",
        long: &["verbose", "abbrev"],
        operands: Operands::Any,
    },
    Sub { name: "range-diff", short: "", short_val: "", long: DIFF, operands: Operands::Any },
    Sub {
        name: "show-branch",
        short: "ar",
        short_val: "",
        long: &["all", "remotes", "current", "list", "no-color", "topics"],
        operands: Operands::Any,
    },
    Sub {
        name: "count-objects",
        short: "vH",
        short_val: "",
        long: &["verbose", "human-readable"],
        operands: Operands::Nothing,
    },
    Sub {
        name: "var",
        short: "l",
        short_val: "",
        long: &[],
        operands: Operands::First(&[
            "GIT_AUTHOR_IDENT",
            "GIT_COMMITTER_IDENT",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_DEFAULT_BRANCH",
        ]),
    },
    Sub {
        name: "version",
        short: "",
        short_val: "",
        long: &["build-options"],
        operands: Operands::Nothing,
    },
];

/// Skips what stands before the subcommand, as far as it is harmless; gives the folders named.
fn globals(args: &[Word]) -> (&[Word], Vec<Word>) {
    let mut args = args;
    let mut folders = Vec::new();
    loop {
        match args {
            [word, rest @ ..]
                if matches!(word.raw.as_str(), "--no-pager" | "-P" | "--no-optional-locks") =>
            {
                args = rest;
            }
            [flag, folder, rest @ ..] if flag.raw == "-C" => {
                folders.push(folder.clone());
                args = rest;
            }
            _ => return (args, folders),
        }
    }
}

/// The folders that git goes to before anything else.
pub(super) fn folders(args: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(text) = args.get(i).and_then(Word::value) {
        match text.as_str() {
            "-C" => {
                out.extend(args.get(i + 1).cloned());
                i += 2;
            }
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" => i += 2,
            flag if flag.starts_with('-') => i += 1,
            _ => break,
        }
    }
    out
}

/// A format that shows signatures, for which git runs another program.
fn shows_signatures(value: &str) -> bool {
    ["%G", "%+G", "%-G", "% G", "signature"].iter().any(|sign| value.contains(sign))
}

/// The operands of a git command that only looks; `None` when it may do more.
pub(super) fn reads(args: &[Word]) -> Option<Vec<Word>> {
    let (args, _) = globals(args);
    let name = args.first()?.literal()?;
    let sub = SUBS.iter().find(|sub| sub.name == name)?;
    let mut operands: Vec<Word> = Vec::new();
    let mut listing = false;
    let mut i = 1;
    while let Some(word) = args.get(i) {
        i += 1;
        let Some(text) = word.literal() else {
            // Globs and known variables may be files; they may not become options.
            if word.may_be_flag() {
                return None;
            }
            operands.push(word.clone());
            continue;
        };
        if text == "--" {
            operands.extend(args[i..].iter().cloned());
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let flag = long.split('=').next().unwrap_or(long);
            if !sub.long.contains(&flag) || shows_signatures(long) {
                return None;
            }
            // `--format X` takes the next word in some commands.
            if matches!(flag, "format" | "pretty")
                && args.get(i).is_some_and(|next| shows_signatures(&next.raw))
            {
                return None;
            }
            listing |= matches!(
                flag,
                "list"
                    | "get"
                    | "get-all"
                    | "get-regexp"
                    | "get-urlmatch"
                    | "contains"
                    | "no-contains"
                    | "merged"
                    | "no-merged"
                    | "points-at"
            );
            continue;
        }
        if let Some(cluster) = text.strip_prefix('-').filter(|c| !c.is_empty()) {
            listing |= cluster.contains('l') && matches!(sub.name, "branch" | "tag" | "config");
            if sub.name == "status" && matches!(cluster, "uno" | "unormal" | "uall") {
                continue;
            }
            // `-5`, `-U3`, `-M90%`, `-L10,20:file`
            if cluster.chars().all(|c| c.is_ascii_digit()) {
                continue;
            }
            if cluster_len(cluster, sub.short, sub.short_val)? == 2 {
                i += 1;
            }
            continue;
        }
        operands.push(word.clone());
    }
    let fine = match sub.operands {
        // `git config user.name` shows it; with a second word it would set it.
        Operands::Any if sub.name == "config" => {
            listing
                || matches!(operands.as_slice(), [key]
                    if key.literal().is_some_and(|key| key.contains('.') && !key.contains('/')))
        }
        Operands::Any => true,
        Operands::Nothing => listing || operands.is_empty(),
        Operands::First(names) => match operands.first() {
            None => sub.name != "stash" && sub.name != "worktree",
            Some(first) => first.literal().is_some_and(|text| names.contains(&text.as_str())),
        },
    };
    fine.then_some(operands)
}
