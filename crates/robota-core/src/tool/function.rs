//! A tool made from an async function and the type of its arguments.

use std::marker::PhantomData;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, schema_of, validate};
use crate::permission::Class;

type Run<T> =
    dyn Fn(T, ToolContext) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send>> + Send + Sync;

/// Calls an async function as a tool. The schema of the tool is derived from the type of the
/// function's argument. With `#[serde(deny_unknown_fields)]` unknown arguments are refused, without it
/// they are ignored. The `#[tool]` attribute macro of the `robota` crate writes the type.
///
/// ```
/// use robota_core::permission::Class;
/// use robota_core::tool::{FunctionTool, Tool, ToolContext};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     /// The numbers.
///     numbers: Vec<i64>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let tool = FunctionTool::new("Sum", "Adds numbers.", Class::Inspect, |sum: Sum, _| async move {
///     sum.numbers.iter().sum::<i64>().to_string()
/// });
/// let input = serde_json::json!({"numbers": [1, 2, 3]});
/// assert_eq!(tool.run(input, ToolContext::detached()).await.text(), "6");
/// assert!(tool.check(&serde_json::json!({"numbers": "1"})).is_err());
/// # }
/// ```
pub struct FunctionTool<T> {
    spec: ToolSpec,
    run: Box<Run<T>>,
    arguments: PhantomData<fn(T)>,
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> FunctionTool<T> {
    /// Creates a tool. `class` is the most that a call can do: read, change files, or anything.
    pub fn new<F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        class: Class,
        run: F,
    ) -> Self
    where
        F: Fn(T, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output: IntoOutcome> + Send + 'static,
    {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: schema_of::<T>(),
            class,
        };
        let run = Box::new(move |arguments, context| {
            let running = run(arguments, context);
            Box::pin(async move { running.await.into_outcome() })
                as Pin<Box<dyn Future<Output = ToolOutcome> + Send>>
        });
        Self { spec, run, arguments: PhantomData }
    }
}

#[async_trait::async_trait]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Tool for FunctionTool<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec.input_schema, input)?;
        // The type may be stricter than its schema.
        parse::<T>(input.clone()).map(drop)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        match parse(input) {
            Ok(arguments) => (self.run)(arguments, context).await,
            Err(error) => ToolOutcome::not_run("invalid_input", error.to_string()),
        }
    }
}

fn parse<T: DeserializeOwned>(input: Value) -> Result<T, InvalidInput> {
    serde_json::from_value(input).map_err(|error| InvalidInput(error.to_string()))
}

/// What the function of a tool may return: text, a number, a truth value, `()`, JSON, a [`ToolOutcome`],
/// or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not the result of a tool",
    note = "return text, a number, `()`, a `ToolOutcome`, `Json(value)` for a value that implements \
            `serde::Serialize`, or a `Result` of these whose error implements `Display`"
)]
pub trait IntoOutcome {
    /// Converts the value to the outcome of the call.
    fn into_outcome(self) -> ToolOutcome;
}

/// A value that a tool returns as JSON text: any type that implements `serde::Serialize`.
///
/// ```
/// use robota_core::tool::{IntoOutcome, Json};
///
/// assert_eq!(Json(vec![1, 2]).into_outcome().text(), "[1,2]");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutcome for Json<T> {
    fn into_outcome(self) -> ToolOutcome {
        match serde_json::to_string(&self.0) {
            Ok(text) => ToolOutcome::ok(text),
            Err(error) => ToolOutcome::failed(
                "failed",
                format!("the tool ran, but its result cannot be written as JSON: {error}"),
            ),
        }
    }
}

impl IntoOutcome for ToolOutcome {
    fn into_outcome(self) -> ToolOutcome {
        self
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> ToolOutcome {
        // Services reject an empty result, and a model would take it for a failure.
        ToolOutcome::ok("Done.")
    }
}

/// These are returned as the text that `Display` writes.
macro_rules! displayed {
    ($($kind:ty),*) => {$(
        impl IntoOutcome for $kind {
            fn into_outcome(self) -> ToolOutcome {
                ToolOutcome::ok(self.to_string())
            }
        }
    )*};
}

displayed!(String, &str, Value, bool, char, f32, f64);
displayed!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// An error becomes a failed call that the model can read.
impl<T: IntoOutcome, E: std::fmt::Display> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> ToolOutcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => ToolOutcome::failed("failed", format!("{error:#}")),
        }
    }
}
