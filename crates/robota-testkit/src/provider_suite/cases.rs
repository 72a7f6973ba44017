//! The cases, by topic. To add one, write it and list it in
//! [`for_each_provider_case`](crate::for_each_provider_case).

pub mod answers;
pub mod connections;
pub mod failures;
pub mod framing;
pub mod requests;
pub mod tools;

use std::num::NonZeroUsize;

use futures::future::BoxFuture;

use super::Suite;

/// A very small image.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n not really";
/// The same image in base64.
const PICTURE_BASE64: &str = "iVBORw0KGgogbm90IHJlYWxseQ==";

fn size(size: usize) -> NonZeroUsize {
    NonZeroUsize::new(size).unwrap()
}

/// Calls a macro for every case.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_provider_case {
    ($each:ident, $make:ident, $wire:ident) => {
        $crate::for_each_provider_case!(@ $each, $make, $wire, answers: text empty_answer thinking
            thinking_is_sent_back hidden_thinking_is_sent_back usage no_usage stop_reasons
            calls_determine_the_stop_reason activity opaque_blocks_are_sent_back web_search);
        $crate::for_each_provider_case!(@ $each, $make, $wire, tools: one_tool parallel_tools
            results_are_sent_back results_come_first unreadable_arguments arguments_truncated_by_the_limit
            images unusual_calls generated_ids_are_sent_back
            core_17_ids_may_repeat_across_turns calls_written_as_text);
        $crate::for_each_provider_case!(@ $each, $make, $wire, requests: limits_are_sent no_tools
            an_instruction_comes_last no_empty_text_is_sent foreign_ids_are_converted
            payloads_are_reported requests_are_stable);
        $crate::for_each_provider_case!(@ $each, $make, $wire, failures: truncation
            truncation_anywhere closed_before_headers connection_refused statuses retry_after
            final_failures error_in_the_stream unusual_errors unusual_errors_in_the_stream blocked_prompt
            request_id the_key_is_never_exposed);
        $crate::for_each_provider_case!(@ $each, $make, $wire, framing: unusual_framing lone_surrogates
            reasoning_field_names an_endless_line_is_rejected);
        $crate::for_each_provider_case!(@ $each, $make, $wire, connections: the_connection_is_reused
            abort_while_silent abort_before_headers concurrent_calls deltas_are_not_delayed
            a_body_without_an_end);
    };
    (@ $each:ident, $make:ident, $wire:ident, $area:ident: $($case:ident)*) => {
        $( $crate::$each!($make, $wire, $area, $case); )*
    };
}

/// A case. It fails by panicking.
pub type Case = fn(Suite) -> BoxFuture<'static, ()>;

/// Returns every case with its name, for running them without the macro.
#[must_use]
pub fn all() -> Vec<(&'static str, Case)> {
    let mut all: Vec<(&'static str, Case)> = Vec::new();
    crate::for_each_provider_case!(provider_case_row, all, _any);
    all
}

#[cfg(test)]
mod tests;
