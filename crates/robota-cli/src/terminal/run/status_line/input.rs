//! The JSON that a status line command reads: the fields of Claude Code's.

use robota_core::catalogue::Catalogue;
use robota_core::context::ContextState;
use robota_core::permission::Mode;
use serde_json::{Map, Value, json};

use super::measures::Measured;

/// Prompts above this many tokens cost more with some models.
const LONG: u64 = 200_000;

/// The state of a session.
pub(super) struct Input<'a> {
    pub(super) session: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) transcript: Option<String>,
    pub(super) cwd: String,
    pub(super) added: Vec<String>,
    pub(super) model: Model,
    pub(super) mode: Mode,
    pub(super) output_style: Option<&'a str>,
    pub(super) context: Option<ContextState>,
    pub(super) measured: Measured,
}

/// A model with its name for people.
pub(super) struct Model {
    id: String,
    name: String,
}

impl Model {
    /// Finds the name of a model; its id if the catalogue has none.
    pub(super) fn named(id: &str) -> Self {
        let name = Catalogue::builtin().name(id).to_owned();
        Self { id: id.to_owned(), name }
    }
}

impl Input<'_> {
    /// Returns the JSON.
    pub(super) fn json(&self) -> Value {
        let measured = &self.measured;
        let usage = measured.costs.usage();
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(0);
        let window = self.context.map_or(0, |context| context.max_tokens);
        let used = self.context.map_or(0.0, |context| context.used_percentage);
        let tokens = self.context.map_or(0, |context| context.used_tokens);
        let current = measured.last.map(|last| {
            json!({
                "input_tokens": last.uncached_input(),
                "output_tokens": last.output_tokens,
                "cache_creation_input_tokens": last.cache_write_tokens,
                "cache_read_input_tokens": last.cache_read_tokens,
            })
        });
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        // Claude Code sends this name, although the status line is no hook.
        set("hook_event_name", json!("Status"));
        set("session_id", json!(self.session));
        if let Some(name) = self.name {
            set("session_name", json!(name));
        }
        set("transcript_path", json!(self.transcript.as_deref().unwrap_or_default()));
        set("cwd", json!(self.cwd));
        set("permission_mode", json!(self.mode));
        set("model", json!({"id": self.model.id, "display_name": self.model.name}));
        let workspace =
            json!({"current_dir": self.cwd, "project_dir": self.cwd, "added_dirs": self.added});
        set("workspace", workspace);
        set("version", json!(env!("CARGO_PKG_VERSION")));
        set("output_style", json!({"name": self.output_style.unwrap_or("default")}));
        let cost = json!({
            "total_cost_usd": measured.costs.known_cost(),
            "total_duration_ms": milliseconds(measured.elapsed),
            "total_api_duration_ms": milliseconds(measured.api),
            "total_lines_added": measured.added,
            "total_lines_removed": measured.removed,
        });
        set("cost", cost);
        let context = json!({
            "total_input_tokens": usage.input_tokens,
            "total_output_tokens": usage.output_tokens,
            "context_window_size": window,
            "used_percentage": used,
            "remaining_percentage": (100.0 - used).max(0.0),
            "current_usage": current,
        });
        set("context_window", context);
        set("exceeds_200k_tokens", json!(tokens > LONG));
        Value::Object(fields)
    }
}
