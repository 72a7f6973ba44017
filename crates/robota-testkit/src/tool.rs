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

/// A tool that is a function. Clones are the same tool.
#[derive(Clone)]
pub struct FnTool {
    spec: ToolSpec,
    body: Arc<Body>,
    inputs: Arc<Mutex<Vec<Value>>>,
}

/// A tool that runs `body`. It takes any arguments, unless [`FnTool::schema`] says otherwise.
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
    /// The same tool for arguments of that JSON Schema.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.spec.input_schema = schema;
        self
    }

    /// The arguments of every call that ran, in order.
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
        lock(&self.inputs).push(input.clone());
        (self.body)(input, context).await
    }
}

/// A tool that panics.
#[derive(Debug, Clone)]
pub struct PanickingTool {
    spec: ToolSpec,
}

/// A tool that panics whenever it runs.
#[must_use]
pub fn panicking_tool(name: &str, class: Class) -> PanickingTool {
    PanickingTool { spec: spec(name, class) }
}

#[async_trait::async_trait]
impl Tool for PanickingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        panic!("{} panics, as the test wants", self.spec.name)
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
