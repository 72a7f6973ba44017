//! Every combination of statements, redirections and connectors, taken apart as the shell does.

use super::*;

/// The expected parse of one simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Want {
    words: String,
    redirects: Vec<(RedirectKind, String)>,
    stdin: Option<String>,
}

/// A statement as text, with its expected parse.
#[derive(Debug, Clone)]
struct Made {
    text: String,
    /// Here-documents that begin after the line.
    documents: usize,
    want: Vec<Want>,
}

fn command(words: &str) -> Made {
    let want = Want { words: words.into(), redirects: Vec::new(), stdin: None };
    Made { text: words.into(), documents: 0, want: vec![want] }
}

const STATEMENTS: usize = 11;

/// Returns a statement that runs `inner` (a simple command).
fn statement(kind: usize, inner: &Made) -> Made {
    let around = |before: &str, after: &str| Made {
        text: format!("{before}{}{after}", inner.text),
        ..inner.clone()
    };
    let after = |first: &str, made: Made| Made {
        want: command(first).want.into_iter().chain(made.want).collect(),
        ..made
    };
    match kind {
        0 => inner.clone(),
        1 => around("{ ", "; }"),
        2 => around("( ", " )"),
        3 => after("c", around("if c; then ", "; fi")),
        4 => around("for i in a b; do ", "; done"),
        5 => after("w", around("while w; do ", "; done")),
        6 => around("case x in a|b) ", " ;; esac"),
        7 => around("! ", ""),
        8 => around("time { ", "; }"),
        9 => command("[ -n x ]"),
        _ => after("[[ a < b ]]", around("{ [[ a < b ]] && ", "; }")),
    }
}

fn is_simple(kind: usize) -> bool {
    matches!(kind, 0 | 7 | 9)
}

const REDIRECTIONS: usize = 10;

/// Returns the statement with a redirection behind it.
fn redirected(kind: usize, of: usize, made: Made) -> Made {
    use RedirectKind::{Copy, Read, Write};
    let (text, redirect, stdin) = match kind {
        0 => return made,
        1 => ("> f", Some((Write, "f")), None),
        2 => (">>f", Some((Write, "f")), None),
        3 => ("2>&1", Some((Copy, "1")), None),
        4 => ("2>/dev/null", Some((Write, "/dev/null")), None),
        5 => ("< f", Some((Read, "f")), None),
        6 => ("<<< s", None, Some("s")),
        7 => ("<<EOF", None, Some("line\n")),
        8 => ("&> f", Some((Write, "f")), None),
        _ => ("2> f 1>&2", Some((Write, "f")), None),
    };
    let mut redirects: Vec<(RedirectKind, String)> =
        redirect.into_iter().map(|(kind, target)| (kind, target.to_owned())).collect();
    if kind == 9 {
        redirects.push((Copy, "2".into()));
    }
    let stdin = stdin.map(str::to_owned);
    let mut want = made.want;
    if is_simple(of) {
        let last = want.last_mut().unwrap();
        last.redirects = redirects;
        last.stdin = stdin;
    } else {
        // The redirection of a group is a part of its own; its input is what all commands read.
        want.insert(0, Want { words: String::new(), redirects, stdin: None });
        want.iter_mut().for_each(|want| want.stdin = stdin.clone());
    }
    Made {
        text: format!("{} {text}", made.text),
        documents: made.documents + usize::from(kind == 7),
        want,
    }
}

fn joined(left: &Made, connector: &str, right: &Made) -> Made {
    Made {
        text: format!("{} {connector} {}", left.text, right.text),
        documents: left.documents + right.documents,
        want: left.want.iter().chain(&right.want).cloned().collect(),
    }
}

fn check(made: &Made) {
    let text = format!("{}\n{}", made.text, "line\nEOF\n".repeat(made.documents));
    let script = script(&text);
    let got: Vec<Want> = script
        .parts
        .iter()
        .map(|part| Want {
            words: part.words.iter().map(|w| w.raw.as_str()).collect::<Vec<_>>().join(" "),
            redirects: part.redirects.iter().map(|r| (r.kind, r.target.raw.clone())).collect(),
            stdin: part.stdin.as_ref().and_then(Word::value),
        })
        // The head of a loop.
        .filter(|part| {
            !(part.words.is_empty() && part.redirects.is_empty() && part.stdin.is_none())
        })
        .collect();
    let mut want = made.want.clone();
    want.retain(|part| {
        !(part.words.is_empty() && part.redirects.is_empty() && part.stdin.is_none())
    });
    // The head of a loop reads what the loop reads.
    let got: Vec<Want> = got
        .into_iter()
        .filter(|part| !part.words.is_empty() || !part.redirects.is_empty() || want.contains(part))
        .collect();
    assert_eq!(dedup(got), dedup(want), "{text}");
    assert!(!script.doubts.iter().any(|doubt| doubt.hard), "{text}: {:?}", script.doubts);
}

/// Removes duplicates: a group's own part and the head of a loop are equal if they only have an
/// input.
fn dedup(mut parts: Vec<Want>) -> Vec<Want> {
    parts.dedup();
    parts
}

fn one(kind: usize, redirection: usize, name: &str) -> Made {
    redirected(redirection, kind, statement(kind, &command(name)))
}

/// `! a` and `time { a; }` are pipelines, which cannot follow `|`.
fn may_follow(connector: &str, kind: usize) -> bool {
    !(matches!(kind, 7 | 8) && matches!(connector, "|" | "|&"))
}

const CONNECTORS: [&str; 6] = ["&&", "||", ";", "|", "&", "|&"];

#[test]
fn every_pair_of_statements_keeps_its_redirections() {
    for left in 0..STATEMENTS {
        for right in 0..STATEMENTS {
            for connector in CONNECTORS {
                for (a, b) in (0..REDIRECTIONS).map(|a| (a, (a * 3 + left + right) % REDIRECTIONS))
                {
                    if !may_follow(connector, right) {
                        continue;
                    }
                    check(&joined(&one(left, a, "a x"), connector, &one(right, b, "b y")));
                }
            }
        }
    }
}

#[test]
fn a_redirection_behind_a_list_belongs_to_its_last_command() {
    for outer in 0..STATEMENTS {
        for redirection in 0..REDIRECTIONS {
            for first in CONNECTORS {
                for second in CONNECTORS {
                    let pair = joined(&one(0, redirection, "a"), first, &one(0, 3, "b"));
                    let list = joined(&pair, second, &one(outer, redirection, "c"));
                    if !may_follow(second, outer) {
                        continue;
                    }
                    check(&list);
                    if outer != 0 && outer != 7 && outer != 9 {
                        check(&joined(&statement(outer, &list), "|", &one(0, 4, "d")));
                    }
                }
            }
        }
    }
}

#[test]
fn a_redirection_inside_brackets_is_one() {
    use RedirectKind::{Read, Write};
    for (text, kind) in [
        ("[ a > f ]", Write),
        ("[ a >f ]", Write),
        ("[ 1 -lt 2 > f ]", Write),
        ("[ a < f ]", Read),
        ("a && [ b > f ] || c", Write),
        ("if [ a > f ]; then b; fi", Write),
        ("test a > f", Write),
    ] {
        let script = script(text);
        let redirects: Vec<_> = script.parts.iter().flat_map(|part| &part.redirects).collect();
        assert_eq!(redirects.len(), 1, "{text}");
        assert_eq!((redirects[0].kind, redirects[0].target.raw.as_str()), (kind, "f"), "{text}");
        assert_eq!(script.doubts, [], "{text}");
    }
    for text in ["[[ a > f ]]", "[[ a < f && b > g ]]", "[ a \\> f ]", "[ a '>' f ]"] {
        let script = script(text);
        assert!(script.parts.iter().all(|part| part.redirects.is_empty()), "{text}");
        assert_eq!(script.doubts, [], "{text}");
    }
}
