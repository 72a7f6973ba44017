use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use robota_core::call::CallContext;

use super::*;

async fn run(tool: &dyn Tool, input: Value) -> ToolOutcome {
    tool.run(input, ToolContext::detached()).await
}

#[tokio::test]
async fn a_function_tool_records_its_arguments() {
    let tool = fn_tool("echo", Class::Modify, |input| async move { input.to_string() });
    assert_eq!(tool.spec().class, Class::Modify);
    assert!(tool.check(&json!({"anything": [1]})).is_ok());
    assert_eq!(run(&tool, json!({"x": 1})).await.text(), "{\"x\":1}");
    assert_eq!(tool.clone().inputs(), [json!({"x": 1})]);
}

#[tokio::test]
async fn functions_may_fail() {
    let tool = fn_tool("odd", Class::Inspect, |_| async { Err::<&str, _>("no") });
    let outcome = run(&tool, json!({})).await;
    assert!(!outcome.ok);
    assert_eq!(outcome.text(), "no");
}

#[test]
fn a_schema_is_checked() {
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]});
    let tool = fn_tool("x", Class::Inspect, |_| async { "" }).schema(schema);
    assert!(tool.check(&json!({})).is_err());
    assert!(tool.check(&json!({"x": 1})).is_ok());
}

#[tokio::test]
async fn a_panicking_tool_panics() {
    let tool = panicking_tool("bang", Class::Inspect);
    let task = tokio::spawn(async move { run(&tool, json!({})).await });
    assert!(task.await.unwrap_err().is_panic());
}

#[tokio::test]
async fn a_blocking_tool_ends_when_released_or_cancelled() {
    let tool = blocking_tool("slow", Class::Inspect);
    assert!(tool.started(1).now_or_never().is_none());
    let mut call = run(&tool, json!({})).boxed();
    assert!((&mut call).now_or_never().is_none());
    tool.started(1).await;
    tool.release("done");
    assert_eq!(call.await.text(), "done");

    let tool = blocking_tool("slow", Class::Inspect);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = tool.run(json!({}), cancelled_by(cancel)).await;
    assert_eq!(outcome.error_code.as_deref(), Some("cancelled"));
}

#[tokio::test]
async fn a_stubborn_tool_ignores_cancellation() {
    let tool = stubborn_tool("mule", Class::Execute);
    let cancel = CancellationToken::new();
    let context = cancelled_by(cancel.clone());
    let mut call = tool.run(json!({}), context).boxed();
    cancel.cancel();
    assert!((&mut call).now_or_never().is_none());
    tool.cancelled(1).await;
    tool.release("done all the same");
    assert_eq!(call.await.text(), "done all the same");
}

fn cancelled_by(cancel: CancellationToken) -> ToolContext {
    let scope = CallContext { cancel, ..CallContext::detached() };
    ToolContext { scope, ..ToolContext::detached() }
}
