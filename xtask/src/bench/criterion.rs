//! Reads what criterion left in its folder: one `new/estimates.json` and `new/benchmark.json`
//! per bench.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::Value;

/// One measured bench.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    group: String,
    name: String,
    /// The function, when it was measured with several values: these are compared.
    series: Option<String>,
    /// Nanoseconds per iteration, or per element where a throughput was declared.
    nanos: f64,
    per_element: bool,
}

/// Leaves a mark in the folder of results; only what is newer was measured in this run.
pub(super) fn mark(results: &Path) -> Result<SystemTime> {
    std::fs::create_dir_all(results)
        .with_context(|| format!("cannot make {}", results.display()))?;
    let mark = results.join(".begun");
    std::fs::write(&mark, "")?;
    Ok(mark.metadata()?.modified()?)
}

/// What was measured since then.
pub(super) fn read(results: &Path, since: SystemTime) -> Result<Vec<Measured>> {
    let mut found = Vec::new();
    let mut folders = vec![results.to_owned()];
    while let Some(folder) = folders.pop() {
        let estimates = folder.join("new/estimates.json");
        if estimates.is_file() {
            if estimates.metadata()?.modified()? >= since {
                let json = |path: &Path| -> Result<Value> {
                    let text = std::fs::read_to_string(path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    Ok(serde_json::from_str(&text)?)
                };
                let bench = json(&folder.join("new/benchmark.json"))?;
                let measured = measured(&bench, &json(&estimates)?);
                found.push(
                    measured.with_context(|| {
                        format!("{} has not the form we know", folder.display())
                    })?,
                );
            }
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(found)
}

fn measured(bench: &Value, estimates: &Value) -> Option<Measured> {
    let text = |key: &str| bench[key].as_str().filter(|text| !text.is_empty());
    let group = text("group_id")?.to_owned();
    let parts: Vec<&str> = [text("function_id"), text("value_str")].into_iter().flatten().collect();
    let elements = bench["throughput"]["Elements"].as_f64().filter(|count| *count > 0.0);
    let nanos = estimates["median"]["point_estimate"].as_f64()?;
    Some(Measured {
        name: if parts.is_empty() { group.clone() } else { parts.join("/") },
        group,
        series: text("value_str").and(text("function_id")).map(str::to_owned),
        nanos: nanos / elements.unwrap_or(1.0),
        per_element: elements.is_some(),
    })
}

/// One line per bench, with its ratio to the baseline of its group.
pub(super) fn table(measured: &[Measured]) -> String {
    let mut groups: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for one in measured {
        groups.entry(&one.group).or_default().push(one);
    }
    let mut out = String::new();
    for (group, mut members) in groups {
        members.sort_by_key(|one| (one.name != "baseline", natural(&one.name)));
        for one in &members {
            let named = members.first().filter(|first| first.name == "baseline");
            let first = members.iter().find(|other| other.series == one.series);
            let Some(baseline) = named.or(first) else { continue };
            let unit = if one.per_element { "ns/element" } else { "ns" };
            let _ = writeln!(
                out,
                "{group}: {} {:.1} {unit}, ratio {:.2} to {}",
                one.name,
                one.nanos,
                one.nanos / baseline.nanos,
                baseline.name
            );
        }
    }
    out
}

/// What to sort a name by: numbers in it count as numbers, so that 9 comes before 10.
fn natural(name: &str) -> Vec<(u64, String)> {
    name.split('/').map(|part| (part.parse().unwrap_or(u64::MAX), part.to_owned())).collect()
}

#[cfg(test)]
mod tests;
