//! The cases, by topic. To add one, write it and list it in
//! [`for_each_provider_case`](crate::for_each_provider_case).

pub mod answers;
pub mod failures;
pub mod framing;
pub mod life;
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
        $crate::for_each_provider_case!(@ $each, $make, $wire, answers: text nothing thinking
            thinking_goes_back hidden_thinking_goes_back usage no_usage stop_reasons
            calls_decide_the_stop activity hidden_blocks_go_back web_search);
        $crate::for_each_provider_case!(@ $each, $make, $wire, tools: one_tool parallel_tools
            results_go_back results_come_first unreadable_arguments arguments_cut_by_the_limit
            images odd_calls made_up_ids_go_back
            core_17_ids_may_repeat_across_turns calls_written_as_text);
        $crate::for_each_provider_case!(@ $each, $make, $wire, requests: limits_are_sent no_tools
            an_instruction_comes_last nothing_empty_is_sent foreign_ids_are_made_to_fit
            payloads_are_reported requests_are_stable);
        $crate::for_each_provider_case!(@ $each, $make, $wire, failures: truncation
            truncation_anywhere closed_before_headers connection_refused statuses retry_after
            final_failures error_in_the_stream odd_errors odd_errors_in_the_stream blocked_prompt
            request_id the_key_is_never_told);
        $crate::for_each_provider_case!(@ $each, $make, $wire, framing: odd_framing lone_surrogates
            reasoning_has_many_names an_endless_line_is_cut_off);
        $crate::for_each_provider_case!(@ $each, $make, $wire, life: the_connection_is_kept
            abort_while_silent abort_before_headers two_at_once nothing_is_held_back
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
