//! Finds what makes an allowed command need approval: options that run another program, builtins
//! that change what later words mean, and programs that break machines.

use super::args::{Args, Given, base, is_one, known};
use super::{Effect, Language, Program, Shape, Trait, awk, read_only};
use crate::shell::Part;
use crate::shell::word::{Piece, Word};
use crate::words;

/// Returns why a command needs approval although a rule allows it.
pub(crate) fn of_command(given: &[Word], piped: bool) -> Option<String> {
    let program = given.first()?.value()?;
    let name = base(&program);
    if Program::find(name).is_some_and(|program| program.is(Trait::Breaks)) {
        return Some(format!("`{name}` changes the machine itself"));
    }
    if redefines(given) {
        return Some(format!("`{name}` can change what later commands mean"));
    }
    let runs = |flag: &str| Some(format!("`{name} {flag}` can run another program"));
    let Some(args) = Args::parse(given) else {
        return given[1..].iter().find_map(running_option).and_then(|flag| runs(&flag));
    };
    if args.program.shape == Shape::Shell && piped && args.operands.is_empty() {
        return Some(format!("`{name}` runs whatever the command before it prints"));
    }
    if args.spec.is(Trait::Danger) {
        return runs(&args.sub.join(" "));
    }
    by_program(&args, given)
        .or_else(|| args.all().find_map(|given| by_option(&args, given)))
        .or_else(|| {
            let unknown = open_option(&args, given);
            unknown.then(|| format!("an option of `{name}` is not known before it runs"))
        })
}

/// Returns whether what follows this builtin can no longer be read from its words.
pub(crate) fn redefines(words: &[Word]) -> bool {
    Program::of(words).is_some_and(|program| program.is(Trait::Redefines))
        && read_only::reads(words, &Part::default()).is_none()
}

fn open_option(args: &Args, words: &[Word]) -> bool {
    let risky = |effect: Effect| effect.runs() || effect == Effect::Danger;
    let has = args.spec.options.iter().chain(&args.program.options).any(|opt| risky(opt.effect));
    has && args.open
        && words.iter().skip(1).any(|word| {
            let quoted = args.program.is(Trait::Git) && !args.sub.is_empty() && is_one(word);
            word.value().is_none() && word.may_be_flag() && !quoted
        })
}

fn by_option(args: &Args, given: &Given) -> Option<String> {
    let runs = || Some(format!("`{} {}` can run another program", args.name, given.name));
    let unless = |plain: &dyn Fn(&str) -> bool| {
        if given.known().is_some_and(|text| plain(&text)) { None } else { runs() }
    };
    let Some(opt) = given.opt else {
        return is_running_option(given.name.trim_start_matches('-')).then(runs).flatten();
    };
    match opt.effect {
        // Settings of ssh that name no program.
        Effect::Setting => unless(&|text| !words::within("ssh-commands", &text.to_lowercase())),
        // Most options of the linker are about the program that it makes.
        Effect::Linker => unless(&|text| !text.contains("ext") && !text.contains("linkmode")),
        // A formatter or reporter that is no file is one that comes with the program.
        Effect::Style => unless(&|text| text.chars().all(|c| c.is_ascii_lowercase() || c == '-')),
        Effect::Strategy => unless(&|text| words::has("strategies", text)),
        Effect::Run | Effect::Shell | Effect::Load | Effect::Danger => runs(),
        Effect::Script => match args.program.language {
            Some(Language::Sed | Language::Awk | Language::Database) => None,
            _ => runs(),
        },
        Effect::ScriptFile if args.spec.shape == Shape::Code => runs(),
        Effect::Remove | Effect::Write if args.spec.shape == Shape::Find => runs(),
        // A query has no files of its own.
        Effect::Write
            if matches!(args.spec.shape, Shape::Text | Shape::Nothing | Shape::Query)
                && !given.known().is_some_and(|text| crate::judge_sink(&text)) =>
        {
            Some(format!("`{} {}` writes a file", args.name, given.name))
        }
        // `python -m pytest -p x`: the module's own options.
        Effect::Inert if !given.command.is_empty() => of_command(&given.command, false),
        _ => None,
    }
}

fn by_program(args: &Args, given: &[Word]) -> Option<String> {
    let name = args.name.as_str();
    let runs = |flag: &str| Some(format!("`{name} {flag}` can run another program"));
    let any = |test: &dyn Fn(&str) -> bool| {
        given[1..].iter().filter_map(Word::value).any(|text| test(&text))
    };
    let is = |what| args.program.is(what);
    if is(Trait::Git) {
        return of_git(args);
    }
    match args.program.language {
        Some(Language::Sed) if super::files::sed_may_run_or_write(args) => {
            return Some("its sed script can run or write something".into());
        }
        Some(Language::Awk) => return awk_program(args, given),
        Some(Language::Database) => {
            let leaves = |word: &Word| {
                words::within("escapes", &word.text().to_lowercase().replace(' ', "~"))
            };
            return given[1..].iter().any(leaves).then(|| runs("with a shell command")).flatten();
        }
        _ => {}
    }
    // `SHELL=x`, `A='$(shell x)'`
    let calls = |text: &str| {
        text.split_once('=').is_some_and(|(name, value)| {
            name.contains("SHELL")
                || name.contains("MAKEFLAGS")
                || ["$(", "${", "`"].iter().any(|call| value.contains(call))
        })
    };
    let compiler = |word: &Word| {
        let flags = ["-C", "-Z", "--codegen", "--extern"];
        known(word).is_none_or(|text| flags.iter().any(|flag| text.starts_with(flag)))
    };
    let address = |text: &str| words::within("command-addresses", &text.to_lowercase());
    // The old style without a dash: `tar xIf prog file`.
    let first = args.operands.first().and_then(Word::value).unwrap_or_default();
    let old = given.get(1).and_then(Word::value).is_some_and(|text| text == first);
    if is(Trait::Fills) && (!args.options.is_empty() || args.open) {
        runs("with options")
    } else if is(Trait::Make) && any(&calls) {
        runs("NAME=value")
    } else if is(Trait::Plus) && any(&|text| text.starts_with('+')) {
        runs("+command")
    } else if is(Trait::Exec) && any(&address) {
        runs("EXEC:")
    } else if args.spec.shape == Shape::Device && any(&|text| text.starts_with("of=/dev/")) {
        Some("it writes to a device".into())
    } else if args.spec.is(Trait::Flags) && args.operands.iter().any(compiler) {
        runs("-- -C")
    } else if is(Trait::Old) && old && first.contains(['I', 'F']) {
        runs("I")
    } else {
        None
    }
}

/// Returns an option of any program whose name means that its value is run or loaded.
fn running_option(word: &Word) -> Option<String> {
    let text = match (word.value(), word.pieces.first()) {
        (Some(text), _) => text,
        // `--pager="$X"`
        (None, Some(Piece::Text { text, .. } | Piece::Ansi(text))) => text.clone(),
        _ => return None,
    };
    let name = text.strip_prefix("--").or_else(|| {
        // `-javaagent:x`, `-fplugin=x`: a single dash, and too long for a cluster.
        text.strip_prefix('-').filter(|rest| rest.len() > 6 && rest.contains(['=', ':']))
    })?;
    let name = name.split(['=', ':']).next().unwrap_or(name);
    is_running_option(name).then(|| format!("--{name}"))
}

pub(super) fn is_running_option(name: &str) -> bool {
    let ends = |whole: &&str| {
        name.strip_suffix(*whole).is_some_and(|start| start.is_empty() || start.ends_with('-'))
    };
    name.len() >= 3
        && !name.starts_with("no-")
        && !words::has("idle-options", name)
        && (name.split(['-', '_', '.']).any(|part| words::has("running-parts", part))
            || words::list("running-endings").iter().any(ends))
}

/// Returns why a git command needs approval although a rule allows it. Only subcommands that
/// are known are covered: any other name may be an alias, or a program that git finds for it.
fn of_git(args: &Args) -> Option<String> {
    let runs = |flag: &str| Some(format!("`git {flag}` can run another program"));
    if let Some(given) = args.globals.iter().find(|given| given.opt.is_none()) {
        return runs(&given.name);
    }
    let sub = args.sub.first()?;
    if !args.program.subs.iter().any(|known| known.names.first() == Some(&sub.as_str())) {
        return runs(sub);
    }
    let folder = |given: &&Given| !matches!(given.name.as_str(), "-o" | "--output-directory");
    if let Some(given) = args.options.iter().find(|given| given.does(Effect::Write)).filter(folder)
    {
        return runs(&given.name);
    }
    // `ext::sh -c id`: any word before `::` names a program `git-remote-…`.
    let helper = |text: String| {
        text.split_once("::").is_some_and(|(kind, _)| {
            !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
    };
    if args.operands.iter().filter_map(Word::value).any(helper) {
        return runs("ext::");
    }
    // Setting a value: aliases, pagers and hooks are values.
    let sets = args.operands.len() >= 2 && !args.options.iter().any(|o| o.does(Effect::Query));
    (args.spec.is(Trait::Sets) && (sets || args.has_any(&["-f", "--file"])))
        .then(|| runs("config"))
        .flatten()
}

fn awk_program(args: &Args, given: &[Word]) -> Option<String> {
    let found = |what: &str| Some(format!("the {} program {what}", args.name));
    let texts: Option<Vec<String>> = given[1..].iter().map(Word::value).collect();
    let Some(texts) = texts else { return found("is not known before it runs") };
    let elsewhere = |given: &Given| {
        given.opt.is_none_or(|opt| {
            matches!(opt.effect, Effect::ScriptFile | Effect::Load | Effect::Write | Effect::Other)
        })
    };
    if args.options.iter().any(elsewhere) {
        return found("comes from elsewhere");
    }
    let text = texts.join(" ");
    if words::within("awk-reaches", &text) {
        return found("can run another program");
    }
    // `print > "file"` writes; a comparison is not distinguished from it here.
    let script = args.operands.first().and_then(known).unwrap_or_default();
    if text.contains('>') && !awk::is_harmless(&script) { found("can write a file") } else { None }
}
