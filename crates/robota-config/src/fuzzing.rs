//! Entry points for the fuzz targets.

use std::path::Path;

use crate::clean::clean;
use crate::files::{Files, from_bytes};
use crate::frontmatter::Markdown;
use crate::layer::Layer;
use crate::settings::Settings;
use crate::trust::Trust;

/// Loads the bytes as a settings file of the user and of an untrusted checkout.
///
/// # Panics
/// If the untrusted checkout grants or runs something, or if an unreadable file grants something.
pub fn settings(bytes: &[u8]) {
    let nothing = load(None, Trust::NotNeeded);
    let project = load(Some((Layer::ProjectClaude, bytes)), Trust::Unknown);
    let granted = |settings: &Settings| {
        let texts = |list: &[crate::RuleText]| -> Vec<String> {
            list.iter().map(|rule| rule.text.clone()).collect()
        };
        let permissions = &settings.permissions;
        (texts(&permissions.allow), texts(&permissions.additional_directories))
    };
    let (allowed, folders) = granted(&nothing);
    let (allowed_now, folders_now) = granted(&project);
    assert!(allowed_now.iter().all(|rule| allowed.contains(rule)), "allowed: {allowed_now:?}");
    assert!(folders_now.iter().all(|dir| folders.contains(dir)), "folders: {folders_now:?}");
    assert!(project.hooks.is_empty(), "hooks: {:?}", project.hooks);

    let user = load(Some((Layer::UserRobota, bytes)), Trust::NotNeeded);
    if !user.permissions.unreadable.is_empty() {
        assert!(user.permissions.allow.is_empty(), "allowed: {:?}", user.permissions.allow);
    }
    for settings in [&project, &user] {
        for problem in &settings.report.problems {
            assert!(!problem.to_string().is_empty());
        }
        for dropped in &settings.report.dropped {
            assert!(!dropped.to_string().is_empty());
        }
    }
}

/// Reads the bytes as the text of every kind of context file.
///
/// # Panics
/// If the text has something to clean after it was cleaned, or if arguments add a command.
pub fn context(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = Markdown::parse(&text);
    assert_eq!(clean(&file.body), file.body.as_str());
    for key in file.header.keys() {
        let _ = (file.header.text(key), file.header.flag(key), file.header.number(key));
        let _ = (file.header.words(key), file.header.globs(key));
    }
    crate::skills::check_expansion(&file.body, &file.header.words("arguments"));
    crate::instructions::check_text(&file.body);
    let _ = crate::tasks::with_status(
        &text,
        crate::tasks::TaskFileStatus::Todo,
        Some("progress"),
        jiff::Timestamp::UNIX_EPOCH,
    );
}

fn load(file: Option<(Layer, &[u8])>, trust: Trust) -> Settings {
    let path = Path::new("/w/settings.json");
    let sources =
        file.into_iter().map(|(layer, bytes)| from_bytes(layer, path, bytes.to_vec())).collect();
    let files = Files {
        folder: None,
        checkout: std::path::PathBuf::new(),
        sources,
        servers: None,
        managed_servers: Vec::new(),
    };
    let check = |_, rule: &str| {
        if rule.is_empty() { Err("the rule is empty".to_owned()) } else { Ok(()) }
    };
    Settings::from_files(&files, trust, &check)
}
