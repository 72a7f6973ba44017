//! What the fuzzer calls. Each target is a function from bytes to nothing that panics when
//! something is wrong; it is listed in [`TARGETS`], so that a normal test can replay the corpus
//! without the fuzzer (`xtask/tests/fuzz_corpus.rs` includes this file).

// What needs the inside of a crate lives there, behind its feature `fuzzing`; the rest is here or in
// the testkit.
pub use robota_config::fuzzing::{context, settings};
use robota_core::permission::Mode;
pub use robota_policy::fuzzing::{rules as policy_rules, shell as policy_shell};
pub use robota_providers::fuzzing::{
    anthropic as wire_anthropic, chat as wire_chat, gemini as wire_gemini,
    responses as wire_responses, text_calls, tool_schemas,
};
use robota_telemetry::{Metrics, named::NamedProjection};
pub use robota_testkit::fuzzing::{hook_outputs, messages, schemas, scripts, turns};

/// A target: its name and what to do with the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, by the name of its file and of its corpus.
pub const TARGETS: &[Target] = &[
    ("context", context),
    ("events", events),
    ("hook_outputs", hook_outputs),
    ("messages", messages),
    ("mode", mode),
    ("policy_rules", policy_rules),
    ("policy_shell", policy_shell),
    ("schemas", schemas),
    ("scripts", scripts),
    ("settings", settings),
    ("text_calls", text_calls),
    ("tool_schemas", tool_schemas),
    ("turns", turns),
    ("wire_anthropic", wire_anthropic),
    ("wire_chat", wire_chat),
    ("wire_gemini", wire_gemini),
    ("wire_responses", wire_responses),
];

/// Lines of a journal: what [`robota_testkit::fuzzing::events`] checks, and every projection takes
/// whatever decodes.
pub fn events(data: &[u8]) {
    let decoded = robota_testkit::fuzzing::events(data);
    let names = NamedProjection::new("agent");
    for envelope in &decoded {
        let _ = names.project(envelope);
    }
    let _ = Metrics::fold(&decoded);
}

/// Reading a permission mode: any text is a mode or an error, and a mode reads back as itself.
pub fn mode(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Mode>() {
        Ok(mode) => assert_eq!(mode.name(), text),
        Err(error) => assert!(error.contains(text)),
    }
}
