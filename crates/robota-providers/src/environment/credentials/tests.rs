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
fn google_credentials_are_looked_up_in_the_order_of_its_own_clients() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let folder = home.join(".config/gcloud");
    let home_text = home.display().to_string();
    let set = [("HOME", home_text.as_str())];
    assert_eq!(completed("vertex", &set).unwrap().credentials, None);
    let metadata = [set[0], ("GCE_METADATA_HOST", "metadata.google.internal")];
    let host = "metadata.google.internal".to_owned();
    let found = completed("vertex", &metadata).unwrap().credentials;
    assert_eq!(found, Some(Credentials::MetadataServer { host }));

    std::fs::create_dir_all(&folder).unwrap();
    let file = |text: &str| Some(Credentials::ServiceAccount { key_file: Secret::new(text) });
    std::fs::write(folder.join(GCLOUD_FILE), "of gcloud").unwrap();
    assert_eq!(completed("vertex", &metadata).unwrap().credentials, file("of gcloud"));
    std::fs::write(home.join(GCLOUD_FILE), "of another folder").unwrap();
    let moved = [set[0], ("CLOUDSDK_CONFIG", home_text.as_str())];
    assert_eq!(completed("vertex", &moved).unwrap().credentials, file("of another folder"));
    let named = home.join(GCLOUD_FILE).display().to_string();
    let named = [set[0], ("GOOGLE_APPLICATION_CREDENTIALS", named.as_str())];
    assert_eq!(completed("vertex", &named).unwrap().credentials, file("of another folder"));
    // A key takes precedence.
    let with_key = [set[0], ("VERTEX_API_KEY", "k")];
    assert_eq!(completed("vertex", &with_key).unwrap().credentials, None);
}

#[test]
fn the_key_that_googles_own_client_prefers_wins() {
    let set = [("GEMINI_API_KEY", "second"), ("GOOGLE_API_KEY", "first")];
    let key = |set: &[(&str, &str)]| completed("gemini", set).unwrap().api_key.unwrap();
    assert_eq!(key(&set).expose(), "first");
    assert_eq!(key(&set[..1]).expose(), "second");
}
