//! What holds when nobody says anything.

use serde_json::Value;

use crate::keys::{self, Found};
use crate::layer::{Layer, Origin};
use crate::settings::RuleList;
use crate::validate::{Content, Entry};

/// What lies in the configuration folders for the agent to read. Settings, credentials and
/// sessions lie there as well, and are for nobody to read without a question: so these are
/// the folders by name, not all of them.
const READABLE: [&str; 4] = ["skills", "agents", "commands", "memory"];

/// The default allow rules: reading and listing what is meant for the agent.
pub(crate) fn allow() -> Entry {
    let mut rules = vec![".agents/**".to_owned()];
    for folder in [".robota", ".claude", "~/.robota", "~/.claude"] {
        rules.extend(READABLE.iter().map(|name| format!("{folder}/{name}/**")));
    }
    let items = ["Read", "Glob"].iter().flat_map(|tool| {
        rules
            .iter()
            .map(move |path| (Value::from(format!("{tool}({path})")), Origin::of(Layer::BuiltIn)))
    });
    let path = RuleList::Allow.key();
    let rule = match keys::find(path.names()) {
        Found::Rule(rule) => Some(rule),
        Found::Object | Found::Unknown => None,
    };
    Entry {
        path,
        rule,
        content: Content::Items(items.collect()),
        origin: Origin::of(Layer::BuiltIn),
        repeated: false,
    }
}
