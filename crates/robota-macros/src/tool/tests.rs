use quote::quote;

use super::*;

fn error(options: TokenStream, function: TokenStream) -> String {
    expand(options, function).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_a_tool_is_refused_with_a_reason() {
    let good = quote!(
        /// Adds.
        async fn add(a: i64, b: i64) -> String {}
    );
    assert!(expand(quote!(name = "Add", class = Inspect), good.clone()).is_ok());
    for (options, function, reason) in [
        (
            quote!(),
            quote!(
                /** Adds. */
                fn add() -> String {}
            ),
            "`async fn`",
        ),
        (
            quote!(),
            quote!(
                async fn add() -> String {}
            ),
            "describe the tool",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add<T>(a: T) -> String {}
            ),
            "generic",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add(&self) -> String {}
            ),
            "`self`",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add((a, b): (u8, u8)) -> String {}
            ),
            "a name",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add(text: &str) -> String {}
            ),
            "take an owned type",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add(texts: Vec<(u8, Option<&str>)>) -> String {}
            ),
            "take an owned type",
        ),
        (
            quote!(),
            quote!(
                /** Adds. */
                async fn add(text: Option<impl Into<String>>) -> String {}
            ),
            "arguments of known types",
        ),
        (quote!(nam = "Add"), good.clone(), "unknown option"),
        (quote!(name = 3), good.clone(), "string literal"),
        (quote!(class = "inspect"), good.clone(), "Inspect, Modify or Execute"),
        (quote!(inspect), good, "`name = value`"),
    ] {
        let error = error(options, function);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn without_a_class_a_tool_may_do_anything() {
    let text = expand(
        quote!(),
        quote!(
            /** Runs. */
            async fn go() -> String {}
        ),
    )
    .unwrap()
    .to_string();
    assert!(text.contains("Class :: Execute"), "{text}");
}
