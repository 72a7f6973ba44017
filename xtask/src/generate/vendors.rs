//! `docs/vendors.md`: the built-in vendors and models, from their data files.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use robota_core::catalogue::{Catalogue, format_tokens};
use robota_providers::{CredentialKind, CredentialRequirement, Profile, Vendors, Wire};

use super::{codes, table};

const HEAD: &str = include_str!("vendors/head.txt");

/// Makes the page.
pub fn page() -> Result<String> {
    let vendors = Vendors::builtin();
    let vendors: Vec<_> = vendors.iter().collect();
    ensure!(!vendors.is_empty(), "the vendors cannot be read");
    let models: Vec<_> = Catalogue::builtin().models().collect();
    let makers: BTreeSet<_> = models.iter().map(|model| &model.vendor).collect();
    let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), format_tokens);
    let vendor_table = table(
        &["vendor", "name", "aliases", "wire", "key", "address"],
        vendors.iter().map(|it| {
            let (id, aliases) = (format!("`{}`", it.vendor), codes(&it.aliases, ", "));
            vec![id, it.name.clone(), aliases, wires(it), key(it), address(it)]
        }),
    );
    let model_table = table(
        &["model", "maker", "window", "longest answer", "source"],
        models.iter().map(|it| {
            let (window, longest) = (tokens(it.context_window), tokens(it.max_output));
            let source = it.source.as_deref().unwrap_or("not checked").to_owned();
            vec![format!("`{}`", it.id), it.vendor.clone(), window, longest, source]
        }),
    );
    Ok(format!(
        "{HEAD}\n## Vendors\n\n{} vendors, in the order in which they are offered. The variables in the \
         address column override the address.\n\n{vendor_table}\n## Models\n\n{} models of {} makers. A \
         model that is not listed works, too: Robota asks the service for its limits, or assumes them.\n\n\
         {model_table}",
        vendors.len(),
        models.len(),
        makers.len(),
    ))
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
    let mut key = codes(&vendor.api_key_env, ", ");
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
        variables => format!("{address}, {}", codes(variables, ", ")),
    }
}
