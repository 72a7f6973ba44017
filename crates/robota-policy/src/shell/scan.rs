//! Scans the plain text of commands that are not proven. It uses no grammar, so errors of a grammar
//! do not affect it, and its result can only forbid.

use std::path::Path;

use crate::program::removal::takes;
use crate::program::wrap::base;
use crate::words;

pub(crate) fn critical(text: &str, cwd: &Path, home: &Path, dirs: &[String]) -> bool {
    let bare: String = text
        .chars()
        .filter(|c| *c != '\\')
        .map(|c| {
            if matches!(c, '\'' | '"' | '`' | ',' | '(' | ')' | '[' | ']' | '{' | '}' | '=' | '!') {
                ' '
            } else {
                c
            }
        })
        .collect();
    bare.split(['\n', ';', '|', '&']).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.iter().enumerate().any(|(i, word)| {
            // `shutil.rmtree`, `FileUtils.rm_rf`, `fs.rmSync`, `os::remove_dir_all`
            let name = base(word).rsplit(['.', ':']).next().unwrap_or(word);
            let after = &words[i + 1..words.len().min(i + 13)];
            let recursive = after.iter().any(|w| w.starts_with('-') && w.contains(['r', 'R']));
            (words::has("removing-functions", name) || (name == "rm" && recursive))
                && after.iter().any(|w| hits(w, cwd, home, dirs))
        })
    })
}

fn hits(word: &str, cwd: &Path, home: &Path, dirs: &[String]) -> bool {
    let home = home.to_string_lossy();
    let cwd_text = cwd.to_string_lossy();
    let expanded = word
        .replace("${HOME}", &home)
        .replace("$HOME", &home)
        .replace("${PWD}", &cwd_text)
        .replace("$PWD", &cwd_text);
    let expanded = match expanded.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => expanded,
    };
    if matches!(expanded.as_str(), "*" | "." | ".." | "./*" | ".*" | "/" | "/*") {
        return true;
    }
    let stem = expanded.trim_end_matches(['*', '.']).trim_end_matches('/');
    (expanded.starts_with('/') && takes(dirs, Path::new(stem)))
        || (stem.starts_with("..") && takes(dirs, &cwd.join(stem)))
}

/// Returns the texts of all substitutions, found without a grammar, which does not find all.
pub(crate) fn substitutions(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut double = false;
    let mut i = 0;
    while i < chars.len() && out.len() < 64 {
        match chars[i] {
            '\\' => i += 1,
            '"' => double = !double,
            '\'' if !double => {
                i = (i + 1..chars.len()).find(|j| chars[*j] == '\'').unwrap_or(chars.len());
            }
            '`' => {
                let end = closing_backtick(&chars, i + 1);
                out.push(chars[i + 1..end].iter().filter(|c| **c != '\\').collect());
                i = end;
            }
            '$' | '<' | '>' if chars.get(i + 1) == Some(&'(') => {
                // What is inside is scanned again when it is parsed, so do not skip it.
                let end = closing_bracket(&chars, i + 1);
                out.push(chars[i + 2..end].iter().collect());
                i += 1;
            }
            _ => {}
        }
        i += 1;
    }
    out
}

fn closing_backtick(chars: &[char], from: usize) -> usize {
    let mut i = from;
    while i < chars.len() && chars[i] != '`' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i.min(chars.len())
}

fn closing_bracket(chars: &[char], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, c) in chars.iter().enumerate().skip(open) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}
