//! Where a plugin or a marketplace comes from: a folder, or a git repository.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a plugin or a marketplace comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginSource {
    /// A folder of this machine, which is copied.
    Folder(PathBuf),
    /// A git repository, which is cloned.
    Git(GitSource),
}

/// A git repository, and what of it is used.
///
/// ```
/// use robota_config::plugins::GitSource;
///
/// let source = GitSource::parse("https://example.com/tools.git#v2").unwrap();
/// assert_eq!((source.url.as_str(), source.reference.as_deref()), ("https://example.com/tools.git", Some("v2")));
/// assert_eq!(GitSource::parse("ada/tools").unwrap().url, "https://github.com/ada/tools.git");
/// assert!(GitSource::parse("http://example.com/tools.git").is_none());
/// assert!(GitSource::parse("ext::sh -c id").is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitSource {
    /// The address: `https`, `ssh` or `file`, or `user@host:path`.
    pub url: String,
    /// The branch or tag; none for the default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The folder in the repository; none for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The commit; none for the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl GitSource {
    /// Reads an address, with `#BRANCH` or `#TAG` behind it, or OWNER/NAME of a repository on GitHub.
    /// Returns none if it is not valid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (url, reference) = match text.split_once('#') {
            Some((url, reference)) => (url, Some(reference.to_owned())),
            None => (text, None),
        };
        let url = if is_short(url) { github(url) } else { url.to_owned() };
        Self { url, reference, ..Self::default() }.checked()
    }

    /// Reads the source of a marketplace: `{"source": "github", "repo": "ada/tools"}`.
    pub(super) fn from_json(fields: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let url = match text("source")?.as_str() {
            // A full address is not accepted here, because `github` promises one host.
            "github" => github(&text("repo").filter(|repo| is_short(repo))?),
            "url" | "git" | "git-subdir" => {
                let given = text("url").or_else(|| text("repo"))?;
                if is_short(&given) { github(&given) } else { given }
            }
            _ => return None,
        };
        let (reference, path, commit) = (text("ref"), text("path"), text("sha"));
        Self { url, reference, path, commit }.checked()
    }

    /// Returns the name of the repository.
    #[must_use]
    pub fn repository(&self) -> &str {
        let url = self.url.trim_end_matches('/');
        let last = url.rsplit(['/', ':']).next().unwrap_or_default();
        last.strip_suffix(".git").unwrap_or(last)
    }

    /// Returns itself if git can take all parts as what they are, and not as options or other
    /// transports.
    fn checked(self) -> Option<Self> {
        // Git takes what begins with `-` for an option, and some options run programs.
        let plain = |text: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && !text.chars().any(|c| c.is_control() || c.is_whitespace())
        };
        let is_hash = |text: &str| {
            matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let path_stays = |path: &str| {
            let path = path.strip_prefix("./").unwrap_or(path);
            plain(path) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        };
        let is_valid = plain(&self.url)
            && has_known_transport(&self.url)
            && self.reference.as_deref().is_none_or(plain)
            && self.path.as_deref().is_none_or(path_stays)
            && self.commit.as_deref().is_none_or(is_hash);
        is_valid.then_some(self)
    }
}

impl std::fmt::Display for GitSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.url)?;
        self.reference.iter().try_for_each(|reference| write!(out, "#{reference}"))?;
        self.path.iter().try_for_each(|path| write!(out, " ({path})"))
    }
}

/// Reads the source of an entry of `extraKnownMarketplaces`.
///
/// ```
/// use robota_config::plugins::{PluginSource, marketplace_source};
///
/// let entry = serde_json::json!({"source": {"source": "directory", "path": "/srv/plugins"}});
/// let source = marketplace_source(entry.as_object().unwrap());
/// assert_eq!(source, Some(PluginSource::Folder("/srv/plugins".into())));
/// ```
#[must_use]
pub fn marketplace_source(entry: &Map<String, Value>) -> Option<PluginSource> {
    let source = entry.get("source")?.as_object()?;
    let kind = source.get("source").and_then(Value::as_str)?;
    if kind == "directory" {
        let path = source.get("path").and_then(Value::as_str)?;
        return Some(PluginSource::Folder(path.into()));
    }
    GitSource::from_json(source).map(PluginSource::Git)
}

/// Returns whether a text is OWNER/NAME.
fn is_short(text: &str) -> bool {
    let valid = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    matches!(text.split_once('/'), Some((owner, name)) if valid(owner) && valid(name))
}

fn github(repository: &str) -> String {
    format!("https://github.com/{}.git", repository.trim_end_matches(".git"))
}

/// Returns whether an address is encrypted or local. `user@host:path` is SSH.
fn has_known_transport(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            // `http` and `git` are left out: what they bring can be changed on the way.
            matches!(scheme, "https" | "ssh" | "file") && !rest.starts_with('-')
        }
        None => {
            matches!(url.split_once('@'), Some((_, rest)) if {
                let host = rest.split_once(':').map(|(host, _)| host);
                host.is_some_and(|host| !host.is_empty() && !host.starts_with('-') && !host.contains('/'))
            // `::` selects a helper program of git: `ext::sh -c …` runs a command.
            }) && !url.contains("::")
        }
    }
}
