//! Tools for tests.

mod held;

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use robota_core::permission::Class;
use robota_core::tool::{IntoOutcome, Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

pub use held::{HeldTool, blocking_tool, stubborn_tool};

use crate::lock;

type Body = dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutcome> + Send + Sync;

/// A tool that calls a function and records its inputs. Clones share the record.
#[derive(Clone)]
pub struct FnTool {
    spec: ToolSpec,
    body: Arc<Body>,
    inputs: Arc<Mutex<Vec<Value>>>,
}

/// Creates a tool that runs `body`. It accepts any arguments, unless [`FnTool::schema`] is set.
pub fn fn_tool<F, R>(
    name: &str,
    class: Class,
    body: impl Fn(Value) -> F + Send + Sync + 'static,
) -> FnTool
where
    F: Future<Output = R> + Send + 'static,
    R: IntoOutcome + 'static,
{
    let body = move |input, _: ToolContext| body(input).map(IntoOutcome::into_outcome).boxed();
    FnTool { spec: spec(name, class), body: Arc::new(body), inputs: Arc::default() }
}

impl FnTool {
    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.spec.input_schema = schema;
        self
    }

    /// Returns the arguments of every call that ran, in order.
    #[must_use]
    pub fn inputs(&self) -> Vec<Value> {
        lock(&self.inputs).clone()
    }
}

#[async_trait::async_trait]
impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        // Before the body runs, which may fail or be cancelled.
        lock(&self.inputs).push(input.clone());
        (self.body)(input, context).await
    }
}

/// A tool that panics when it runs.
#[derive(Debug, Clone)]
pub struct PanickingTool {
    spec: ToolSpec,
}

/// Creates a tool that panics whenever it runs.
#[must_use]
pub fn panicking_tool(name: &str, class: Class) -> PanickingTool {
    PanickingTool { spec: spec(name, class) }
}

#[async_trait::async_trait]
impl Tool for PanickingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    #[expect(clippy::panic, reason = "the tool exists to panic")]
    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        panic!("{} panics, as the test requested", self.spec.name)
    }
}

fn spec(name: &str, class: Class) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("{name}, for a test"),
        input_schema: json!({"type": "object"}),
        class,
    }
}

#[cfg(test)]
mod tests;
