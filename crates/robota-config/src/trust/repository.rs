//! Reports the programs that the configuration of a git repository names. It came with a checkout or
//! an archive, like the settings, and git runs these programs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clean::visible;
use crate::files::read_bounded;

/// The most programs that are reported.
const MAX_REPORTED: usize = 50;

/// A setting of a repository that makes git run a program, or read further settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepositoryProgram {
    /// The file that has the setting, or the hook itself.
    pub file: PathBuf,
    /// The key, such as `core.fsmonitor`; `hook` for a hook.
    pub key: String,
    /// The value, as the file has it.
    pub value: String,
}

/// Returns what the repository of a folder makes git run.
pub(super) fn programs(folder: &Path) -> Vec<RepositoryProgram> {
    let mut found = Vec::new();
    for dir in folder.ancestors().find_map(repository).unwrap_or_default() {
        for name in ["config", "config.worktree"] {
            let file = dir.join(name);
            let Ok(Some(bytes)) = read_bounded(&file) else { continue };
            for (key, value) in entries(&String::from_utf8_lossy(&bytes)) {
                if runs(&key, &value) {
                    let key = visible(&key);
                    found.push(RepositoryProgram { file: file.clone(), key, value });
                }
            }
        }
        found.extend(hooks(&dir.join("hooks")));
    }
    found.truncate(MAX_REPORTED);
    found
}

/// Returns the folders with the configuration of a repository, if there is one in this folder.
fn repository(folder: &Path) -> Option<Vec<PathBuf>> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(vec![git]);
    }
    if let Ok(Some(link)) = read_bounded(&git) {
        // A worktree or a submodule: a file that names the folder.
        let link = String::from_utf8_lossy(&link).into_owned();
        let dir = folder.join(link.strip_prefix("gitdir:")?.trim());
        let common = read_bounded(&dir.join("commondir")).ok().flatten();
        let common = common.map(|path| dir.join(String::from_utf8_lossy(&path).trim()));
        return Some([Some(dir), common].into_iter().flatten().collect());
    }
    // A folder that is itself a repository without a working tree.
    let bare = folder.join("HEAD").is_file()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir();
    bare.then(|| vec![folder.to_owned()])
}

fn hooks(folder: &Path) -> Vec<RepositoryProgram> {
    use std::os::unix::fs::PermissionsExt as _;
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut hooks: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_none_or(|end| end != "sample"))
        .filter(|path| {
            path.metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
        .collect();
    hooks.sort();
    let hook = |file: PathBuf| {
        let value = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        RepositoryProgram { file, key: "hook".to_owned(), value }
    };
    hooks.into_iter().map(hook).collect()
}

/// Returns whether git runs the value, or what the value leads to.
fn runs(key: &str, value: &str) -> bool {
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    let last = name.rsplit('.').next().unwrap_or(name);
    match section {
        "core" => {
            // `core.fsmonitor=true` is the one that is built into git.
            matches!(
                last,
                "fsmonitor"
                    | "pager"
                    | "editor"
                    | "sshcommand"
                    | "hookspath"
                    | "askpass"
                    | "gitproxy"
                    | "alternaterefscommand"
                    | "attributesfile"
            ) && !matches!(value, "true" | "false")
        }
        "include" | "includeif" => last == "path",
        "diff" => matches!(last, "external" | "command" | "textconv"),
        "filter" => matches!(last, "clean" | "smudge" | "process"),
        "merge" => last == "driver",
        "difftool" | "mergetool" | "browser" | "man" => matches!(last, "cmd" | "path"),
        "credential" => last == "helper",
        "gpg" => matches!(last, "program" | "defaultkeycommand"),
        "interactive" => last == "difffilter",
        "sequence" => last == "editor",
        "uploadpack" => last == "packobjectshook",
        "remote" => matches!(last, "uploadpack" | "receivepack" | "vcs"),
        "submodule" => last == "update" && value.starts_with('!'),
        "alias" => value.starts_with('!'),
        "pager" => !matches!(value, "true" | "false"),
        "sendemail" | "imap" => matches!(last, "sendmailcmd" | "tocmd" | "cccmd" | "tunnel"),
        "hook" => last == "command",
        // Off unless it is set, because its addresses are commands.
        "protocol" => name.starts_with("ext.") && value != "never",
        _ => false,
    }
}

/// Returns the entries of a git configuration, with section and name in lower case.
fn entries(text: &str) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut section = String::new();
    // A backslash at the end continues the line.
    let joined = text.replace("\r\n", "\n").replace("\\\n", "");
    for line in joined.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, rest)) = rest.split_once(']') else { continue };
            let (name, sub) = head.split_once(['"', ' ', '\t']).unwrap_or((head, ""));
            let sub = sub.trim().trim_matches('"');
            section = name.trim().to_ascii_lowercase();
            if !sub.is_empty() {
                section = format!("{section}.{sub}");
            }
            // An entry may follow on the same line.
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.trim().trim_matches('"').to_owned();
        entries.push((format!("{section}.{}", name.trim().to_ascii_lowercase()), value));
    }
    entries
}

#[cfg(test)]
mod tests;
