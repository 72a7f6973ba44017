//! Names of vendors as the conventions for GenAI define them.

/// Returns the value of `gen_ai.provider.name` for a vendor: the name that the conventions define for
/// it, otherwise the vendor's own name.
pub(crate) fn provider_name(vendor: &str) -> &str {
    // Spans and the journal have the vendor's id of `robota-providers`. Dashboards group by the names of
    // the conventions, which differ for these.
    match vendor {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "vertex" => "gcp.vertex_ai",
        "xai" => "x_ai",
        other => other,
    }
}
