use super::*;
use crate::profile::Vendors;
use crate::settings::ProviderSettings;

fn completed(vendor: &str, set: &[(&str, &str)]) -> Result<ProviderSettings, BuildError> {
    let lookup = |name: &str| {
        set.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    };
    let vendors = Vendors::builtin();
    let mut settings = ProviderSettings::default();
    super::super::complete(vendors.find(vendor).unwrap(), &mut settings, &lookup)?;
    Ok(settings)
}

#[test]
fn addresses_are_completed_from_variables() {
    let set = [("GOOGLE_CLOUD_PROJECT", "p1"), ("GOOGLE_CLOUD_LOCATION", "europe-west4")];
    let vertex = completed("vertex", &set).unwrap();
    assert_eq!(
        vertex.base_url.unwrap(),
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west4/publishers/google"
    );
    let bedrock = completed("bedrock", &[("AWS_REGION", "eu-central-1")]).unwrap();
    assert_eq!(
        bedrock.base_url.unwrap(),
        "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1"
    );
    assert_eq!(completed("bedrock", &[]).unwrap().base_url, None);
}

#[test]
fn credentials_are_read_from_the_variables_of_each_cloud() {
    let aws = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    let found = completed("bedrock", &aws).unwrap().credentials;
    assert!(matches!(found, Some(Credentials::Aws { .. })));
    let error = completed("bedrock", &aws[..2]).unwrap_err();
    assert!(error.to_string().contains("AWS_REGION"), "{error}");
    let entra = [("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c"), ("AZURE_CLIENT_SECRET", "s")];
    let found = completed("azure", &entra).unwrap().credentials;
    assert!(matches!(found, Some(Credentials::Entra { .. })));
    // A key takes precedence.
    let with_key: Vec<_> = entra.iter().copied().chain([("AZURE_OPENAI_API_KEY", "k")]).collect();
    assert_eq!(completed("azure", &with_key).unwrap().credentials, None);
    let missing = [("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")];
    assert!(completed("vertex", &missing).unwrap_err().to_string().contains("/nonexistent"));
}

#[test]
fn the_key_that_googles_own_client_prefers_wins() {
    let set = [("GEMINI_API_KEY", "second"), ("GOOGLE_API_KEY", "first")];
    let key = |set: &[(&str, &str)]| completed("gemini", set).unwrap().api_key.unwrap();
    assert_eq!(key(&set).expose(), "first");
    assert_eq!(key(&set[..1]).expose(), "second");
}
