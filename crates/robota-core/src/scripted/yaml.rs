//! Parses a script from YAML, in two passes: the form (the keys with their positions), then the
//! meaning (which keys belong together). The text may be untrusted, so it is parsed within limits.
//! Anchors and aliases are refused, because they can expand a small text to a huge one.

mod shape;
mod short_form;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::time::Duration;

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Location, Spanned};

use super::{Expect, Script, ScriptError, ScriptedAnswer, Stall, Step, ToolStep};
use crate::error::ErrorKind;
use crate::message::ToolInput;
use crate::provider::ProviderError;
use crate::usage::Usage;
use shape::{AnswerIn, ErrorIn, ExpectIn, ScriptIn, StallIn, StepIn, TextIn, ToolIn, UsageIn};

/// A script that has more bytes than this is refused.
pub const MAX_SCRIPT_BYTES: usize = 1024 * 1024;

/// The maximum nesting of a script's lists and mappings.
const MAX_DEPTH: usize = 48;

/// The maximum number of lists, mappings and values in a script.
const MAX_NODES: usize = 100_000;

type Place = Option<(u64, u64)>;

pub(super) fn parse(text: &str) -> Result<Script, ScriptError> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptError::at(
            None,
            format!("it has {} bytes; at most {MAX_SCRIPT_BYTES} are read", text.len()),
        ));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: MAX_SCRIPT_BYTES,
            max_documents: 1,
            // Aliases can make a small file expand without limit, and scripts do not need them.
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_inclusion_depth: 0,
        },
        // Otherwise `no` as an answer of the model would be read as false.
        strict_booleans: true,
        with_snippet: false,
    };
    let script: ScriptIn =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| explain(&error))?;
    compile(script)
}

fn compile(script: ScriptIn) -> Result<Script, ScriptError> {
    if script.answers.is_empty() {
        return Err(ScriptError::at(None, "it has no answers; write at least one"));
    }
    let mut out = Script::new();
    for answer in script.answers {
        out = out.answer(compile_answer(answer, script.chunk)?);
    }
    Ok(if script.looped { out.looped() } else { out })
}

fn compile_answer(
    answer: Spanned<AnswerIn>,
    chunk: Option<NonZeroUsize>,
) -> Result<ScriptedAnswer, ScriptError> {
    let place = place(answer.referenced);
    let AnswerIn { expect, chunk: own_chunk, steps, thinking, text, tools, usage, stop, error } =
        answer.value;
    let chunk = own_chunk.or(chunk);
    let expect = expect.map(compile_expect).transpose()?.unwrap_or_default();

    let mut short = Vec::new();
    if let Some(thinking) = thinking {
        short.push(Step::Thinking { thinking, signature: None, chunk });
    }
    if let Some(TextIn(chunks)) = text {
        short.push(Step::Text { chunks, chunk });
    }
    for tool in tools.into_iter().flatten() {
        short.push(compile_tool(tool, chunk)?);
    }
    short.extend(usage.map(compile_usage));
    let has_error = error.is_some();
    short.extend(error.map(compile_error));
    if has_error && stop.is_some() {
        return Err(ScriptError::at(place, "an answer ends with `error` or with `stop`, not both"));
    }
    short.extend(stop.map(Step::Stop));

    let steps = match steps {
        None => short,
        Some(_) if !short.is_empty() => {
            return Err(ScriptError::at(
                place,
                "an answer with `steps` contains everything there; only `expect` and `chunk` may be \
                 used with it",
            ));
        }
        Some(steps) => compile_steps(steps, chunk)?,
    };
    if steps.is_empty() {
        return Err(ScriptError::at(
            place,
            "this answer says nothing; give it `text`, `tools`, `thinking`, `usage`, `error`, \
             `stop` or `steps` (`text: \"\"` is an empty answer)",
        ));
    }
    Ok(ScriptedAnswer { expect, steps })
}

fn compile_expect(expect: Spanned<ExpectIn>) -> Result<Expect, ScriptError> {
    let ExpectIn { last, system, tools, no_tools, messages } = expect.value;
    if no_tools && !tools.is_empty() {
        return Err(ScriptError::at(
            place(expect.referenced),
            "`expect` has `tools` and `no_tools`: they cannot both hold",
        ));
    }
    Ok(Expect { last, system, tools, no_tools, messages })
}

fn compile_steps(
    steps: Vec<Spanned<StepIn>>,
    chunk: Option<NonZeroUsize>,
) -> Result<Vec<Step>, ScriptError> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let place = place(step.referenced);
        if out.last().is_some_and(Step::is_last) {
            return Err(ScriptError::at(
                place,
                "nothing can follow `stop`, `error`, `drop` or `stall: forever` in an answer",
            ));
        }
        out.push(compile_step(step.value, place, chunk)?);
    }
    Ok(out)
}

const KINDS: &str = "text, thinking, tool, usage, error, stall, stop, drop, activity";

fn compile_step(
    step: StepIn,
    place: Place,
    chunk: Option<NonZeroUsize>,
) -> Result<Step, ScriptError> {
    let StepIn {
        text,
        thinking,
        signature,
        tool,
        input,
        raw,
        id,
        chunk: own_chunk,
        usage,
        error,
        stall,
        stop,
        drop,
        activity,
    } = step;
    let chunked = own_chunk.is_some();
    let chunk = own_chunk.or(chunk);
    let has_signature = signature.is_some();
    let has_call = input.is_some() || raw.is_some() || id.is_some();

    let mut steps: Vec<(&str, Step)> = Vec::new();
    if let Some(TextIn(chunks)) = text {
        steps.push(("text", Step::Text { chunks, chunk }));
    }
    if let Some(thinking) = thinking {
        steps.push(("thinking", Step::Thinking { thinking, signature, chunk }));
    }
    if let Some(tool) = tool {
        let call = ToolIn { tool, input, raw, id, chunk: own_chunk };
        steps.push(("tool", compile_call(call, place, chunk)?));
    }
    steps.extend(usage.map(|usage| ("usage", compile_usage(usage))));
    steps.extend(error.map(|error| ("error", compile_error(error))));
    steps.extend(stall.map(|stall| ("stall", Step::Stall(compile_stall(stall)))));
    steps.extend(stop.map(|stop| ("stop", Step::Stop(stop))));
    steps.extend(drop.then_some(("drop", Step::Drop)));
    steps.extend(activity.then_some(("activity", Step::Activity)));

    let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    let (name, step) = match steps.pop() {
        Some(only) if steps.is_empty() => only,
        _ => {
            let has = if names.is_empty() { "none".to_owned() } else { names.join(" and ") };
            return Err(ScriptError::at(
                place,
                format!("a step has exactly one of {KINDS}; this one has {has}"),
            ));
        }
    };
    let stray = if has_signature && name != "thinking" {
        Some(("signature", "thinking"))
    } else if has_call && name != "tool" {
        Some(("input`, `raw` and `id", "tool"))
    } else if chunked && !matches!(name, "text" | "thinking" | "tool") {
        Some(("chunk", "text`, `thinking` and `tool"))
    } else {
        None
    };
    match stray {
        None => Ok(step),
        Some((key, home)) => Err(ScriptError::at(
            place,
            format!("`{key}` belong to `{home}`, but this step is `{name}`"),
        )),
    }
}

fn compile_tool(tool: Spanned<ToolIn>, chunk: Option<NonZeroUsize>) -> Result<Step, ScriptError> {
    compile_call(tool.value, place(tool.referenced), chunk)
}

fn compile_call(
    call: ToolIn,
    place: Place,
    chunk: Option<NonZeroUsize>,
) -> Result<Step, ScriptError> {
    let ToolIn { tool, input, raw, id, chunk: own_chunk } = call;
    let input = match (input, raw) {
        (Some(_), Some(_)) => {
            return Err(ScriptError::at(
                place,
                "a tool call has `input` (arguments) or `raw` (their text, verbatim), not both",
            ));
        }
        (Some(input), None) => ToolInput::Json(input),
        (None, Some(raw)) => ToolInput::parse(&raw),
        (None, None) => ToolInput::parse(""),
    };
    Ok(Step::Tool(ToolStep { name: tool, input, id, chunk: own_chunk.or(chunk) }))
}

fn compile_usage(usage: UsageIn) -> Step {
    let UsageIn { input, output, cache_read, cache_write, reasoning, web_searches } = usage;
    Step::Usage(Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
        reasoning_tokens: reasoning,
        web_searches,
        ..Usage::default()
    })
}

fn compile_error(error: ErrorIn) -> Step {
    let ErrorIn { kind, message, retry_after_ms, retryable } = error;
    let kind = kind.unwrap_or(ErrorKind::Provider);
    let mut error = ProviderError::new(kind, message);
    if let Some(delay) = retry_after_ms {
        error = error.with_retry_after(Duration::from_millis(delay));
    }
    if let Some(retryable) = retryable {
        error = error.with_retryable(retryable);
    }
    Step::Error(error)
}

fn compile_stall(stall: StallIn) -> Stall {
    match stall {
        StallIn::Forever => Stall::Forever,
        StallIn::Gate(gate) => Stall::Gate(gate),
        StallIn::Ms(ms) => Stall::For(Duration::from_millis(ms)),
    }
}

fn place(location: Location) -> Place {
    (location != Location::UNKNOWN).then(|| (location.line(), location.column()))
}

/// Uses the parser's message where it is understandable, and our own where it is not.
fn explain(error: &Error) -> ScriptError {
    let at = error.location().and_then(place);
    let list = |names: &[&'static str]| match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    let message = match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            format!("there is no key `{}` here; allowed are: {}", brief(field), list(expected))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!("`{}` is not known here; allowed are: {}", brief(variant), list(expected))
        }
        Error::SerdeMissingField { field, .. } => format!("the key `{field}` is missing"),
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("this is {}, but it should be {expected}", brief(unexpected))
        }
        Error::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("the key `{}` is there twice", brief(key)),
            None => "a key is there twice".to_owned(),
        },
        Error::MultipleDocuments { .. } => "it has more than one document (`---`)".to_owned(),
        Error::Message { msg, .. } => brief(msg).into_owned(),
        Error::Budget { breach, .. } => over_budget(breach),
        Error::Eof { .. } => "it is empty; write a list of answers".to_owned(),
        other => brief(&without_place(&other.to_string(), at)).into_owned(),
    };
    ScriptError::at(at, message)
}

fn over_budget(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Aliases { .. }
        | BudgetBreach::Anchors { .. }
        | BudgetBreach::AliasAnchorRatio { .. }
        | BudgetBreach::RecordedAnchorEvents { .. }
        | BudgetBreach::RecordedAnchorBytes { .. }
        | BudgetBreach::MergeKeys { .. } => {
            "anchors (`&name`), aliases (`*name`) and merge keys (`<<`) are not read; write it out"
                .to_owned()
        }
        BudgetBreach::Depth { .. } => {
            format!("its lists and mappings are nested more than {MAX_DEPTH} levels deep")
        }
        BudgetBreach::Documents { .. } => "it has more than one document (`---`)".to_owned(),
        _ => format!("it is too large; at most {MAX_NODES} values are read"),
    }
}

/// Truncates quoted text, which may be a megabyte long.
fn brief(text: &str) -> Cow<'_, str> {
    const QUOTE: usize = 200;
    match text.char_indices().nth(QUOTE) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Removes the position from the end of the parser's message; ours state it at the beginning.
fn without_place(message: &str, at: Place) -> String {
    let Some((line, column)) = at else { return message.to_owned() };
    message.replace(&format!(" at line {line}, column {column}"), "")
}

#[cfg(test)]
mod tests;
