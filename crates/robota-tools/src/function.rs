//! Makes a tool from a function and an argument type.

use std::marker::PhantomData;
use std::pin::Pin;

use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{parse, schema_of};

type Run<T> =
    dyn Fn(T, ToolContext) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send>> + Send + Sync;

/// A function that a model can call. The schema for the model and the validation of arguments come
/// from the argument type: with `#[serde(deny_unknown_fields)]` unknown arguments are rejected,
/// without it they are ignored.
///
/// ```
/// use robota_core::permission::Class;
/// use robota_core::tool::{Tool, ToolContext, ToolOutcome};
/// use robota_tools::FunctionTool;
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
///     ToolOutcome::ok(sum.numbers.iter().sum::<i64>().to_string())
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
    /// Creates a tool. `class` is the class of its most dangerous effect.
    pub fn new<F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        class: Class,
        run: F,
    ) -> Self
    where
        F: Fn(T, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolOutcome> + Send + 'static,
    {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: schema_of::<T>(),
            class,
        };
        let run = Box::new(move |arguments, context| {
            Box::pin(run(arguments, context)) as Pin<Box<dyn Future<Output = ToolOutcome> + Send>>
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
        robota_core::tool::validate(&self.spec.input_schema, input)?;
        // The type may have constraints that the schema cannot express.
        parse::<T>(input.clone()).map(drop)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        match parse(input) {
            Ok(arguments) => (self.run)(arguments, context).await,
            Err(error) => ToolOutcome::not_run("invalid_input", error.to_string()),
        }
    }
}
