//! `docs/vendors.md`: the built-in vendors and models, from their data files.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use robota_core::catalogue::{Catalogue, ModelInfo, format_tokens};
use robota_providers::{CredentialKind, CredentialRequirement, Profile, Vendors, Wire};

use crate::tree::Tree;

/// The generated page.
pub const PAGE: &str = "docs/vendors.md";

const HEAD: &str = "\
# Vendors and models

Written by `cargo xtask gen` from `crates/robota-providers/data/vendors` and
`crates/robota-core/data/models.json`; do not edit. [providers.md](providers.md) explains how to choose and
configure a vendor.
";

/// Makes the page.
pub fn page(_: &Tree) -> Result<String> {
    let vendors = Vendors::builtin();
    ensure!(vendors.iter().next().is_some(), "the vendors cannot be read");
    let mut page = HEAD.to_owned();
    let _ = write!(
        page,
        "\n## Vendors\n\n{} vendors, in the order in which they are offered. The variables in the address \
         column override the address.\n\n\
         | vendor | name | aliases | wire | key | address |\n|---|---|---|---|---|---|\n",
        vendors.iter().count()
    );
    for vendor in vendors.iter() {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {} |",
            vendor.vendor,
            vendor.name,
            codes(&vendor.aliases),
            wires(vendor),
            key(vendor),
            address(vendor),
        );
    }
    let models: Vec<_> = Catalogue::builtin().models().collect();
    let _ = write!(
        page,
        "\n## Models\n\n{} models of {} makers. A model that is not listed works, too: its limits are \
         asked from the service, or assumed.\n\n\
         | model | maker | window | longest answer | source |\n|---|---|---|---|---|\n",
        models.len(),
        makers(&models)
    );
    for model in models {
        let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), format_tokens);
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            model.id,
            model.vendor,
            tokens(model.context_window),
            tokens(model.max_output),
            model.source.as_deref().unwrap_or("not checked"),
        );
    }
    Ok(page)
}

fn makers(models: &[&ModelInfo]) -> usize {
    let makers: std::collections::BTreeSet<_> = models.iter().map(|model| &model.vendor).collect();
    makers.len()
}

fn codes(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn wires(vendor: &Profile) -> String {
    let name = |wire: Wire| match wire {
        Wire::AnthropicMessages => "Anthropic Messages",
        Wire::ChatCompletions => "Chat Completions",
        Wire::Responses => "Responses",
        Wire::GeminiGenerateContent => "Gemini",
    };
    match vendor.off_host.as_ref().and_then(|off_host| off_host.wire) {
        Some(other) => format!("{}; {} at another address", name(vendor.wire), name(other)),
        None => name(vendor.wire).to_owned(),
    }
}

fn key(vendor: &Profile) -> String {
    let mut key = codes(&vendor.api_key_env);
    let other = vendor.credentials.map(|kind| match kind {
        CredentialKind::Aws => "AWS access keys",
        CredentialKind::ServiceAccount => "a service account",
        CredentialKind::Entra => "an application of Microsoft Entra",
        _ => "other credentials",
    });
    if let Some(other) = other {
        key = if key.is_empty() { other.to_owned() } else { format!("{key}, or {other}") };
    }
    match vendor.credential {
        CredentialRequirement::Required => key,
        CredentialRequirement::Optional if key.is_empty() => "optional".to_owned(),
        CredentialRequirement::Optional => format!("{key}, if the server requires it"),
        CredentialRequirement::None => "not needed".to_owned(),
    }
}

fn address(vendor: &Profile) -> String {
    let address = vendor.base_url.as_ref().or(vendor.base_url_template.as_ref());
    let address = address.map_or_else(|| "set by you".to_owned(), |url| format!("`{url}`"));
    match vendor.base_url_env.as_slice() {
        [] => address,
        variables => format!("{address}, {}", codes(variables)),
    }
}
