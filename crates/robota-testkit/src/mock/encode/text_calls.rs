//! Renders tool calls as text, as local models write them when the server has no parser.

use serde_json::{Value, json};

use crate::mock::quirk::TextCalls;
use crate::mock::scenario::Call;

/// Renders the calls of an answer as text.
pub(super) fn render(form: TextCalls, calls: &[Call]) -> String {
    match form {
        TextCalls::Hermes => calls
            .iter()
            .map(|call| {
                let call = json!({"name": call.name, "arguments": call.object()});
                format!("<tool_call>\n{call}\n</tool_call>")
            })
            .collect::<Vec<_>>()
            .join("\n"),
        TextCalls::QwenXml => calls.iter().map(qwen).collect::<Vec<_>>().join("\n"),
        TextCalls::Gemma => {
            calls.iter().map(|call| gemma(call, "<|tool_call>", "<tool_call|>", "<|\"|>")).collect()
        }
        TextCalls::FunctionGemma => calls
            .iter()
            .map(|call| gemma(call, "<start_function_call>", "<end_function_call>", "<escape>"))
            .collect(),
        TextCalls::Fenced => calls
            .iter()
            .map(|call| {
                let call = json!({"name": call.name, "arguments": call.object()});
                format!("```json\n{call:#}\n```")
            })
            .collect::<Vec<_>>()
            .join("\n"),
        TextCalls::Llama => calls
            .iter()
            .map(|call| json!({"name": call.name, "parameters": call.object()}).to_string())
            .collect::<Vec<_>>()
            .join("; "),
        TextCalls::Mistral => {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(nth, call)| {
                    json!({"name": call.name, "arguments": call.object(), "id": format!("abc12345{nth}")})
                })
                .collect();
            format!("[TOOL_CALLS]{}", Value::Array(calls))
        }
    }
}

fn fields(call: &Call) -> Vec<(String, Value)> {
    match call.object() {
        Value::Object(fields) => fields.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn qwen(call: &Call) -> String {
    let parameters: String = fields(call)
        .iter()
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("<parameter={name}>\n{value}\n</parameter>\n")
        })
        .collect();
    format!("<tool_call>\n<function={}>\n{parameters}</function>\n</tool_call>", call.name)
}

fn gemma(call: &Call, open: &str, close: &str, quote: &str) -> String {
    let arguments: Vec<String> = fields(call)
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}:{quote}{text}{quote}"),
            other => format!("{name}:{other}"),
        })
        .collect();
    format!("{open}call:{}{{{}}}{close}", call.name, arguments.join(","))
}
