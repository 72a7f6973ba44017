//! The `#[tool]` attribute macro. Use it through the `robota` crate, which documents it.

mod tool;

use proc_macro::TokenStream;

/// Makes a tool from an async function. See `robota::tool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
