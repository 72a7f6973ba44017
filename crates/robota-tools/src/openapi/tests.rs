use std::sync::Arc;

use robota_core::env_ref::Secret;
use robota_core::tool::{Tool, ToolContext, ToolOutcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// Starts a server that answers every request with `answer`, and returns what it received.
async fn server(answer: &'static str) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut part = [0; 4096];
            loop {
                let read = stream.read(&mut part).await.unwrap();
                request.extend_from_slice(&part[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                });
                if read == 0 || body.len() >= length.unwrap_or(0) {
                    let _ = send.send(text);
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, receive)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\
                  Connection: close\r\n\r\n{\"ok\":true}";

fn petstore() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example/v1"}],
        "security": [{"key": []}],
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true,
                    "schema": {"type": "string"}}],
                "get": {"operationId": "getPet", "summary": "Gets a pet", "tags": ["pets"],
                    "parameters": [
                        {"$ref": "#/components/parameters/Fields"},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    ]},
                "delete": {"operationId": "deletePet"},
            },
            "/pets": {
                "post": {"operationId": "addPet", "requestBody": {"required": true, "content":
                    {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
                "put": {"operationId": "upload", "requestBody": {"content":
                    {"multipart/form-data": {}}}},
            },
            "/login": {"post": {"security": [], "requestBody": {"content":
                {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}}}},
        },
        "components": {
            "parameters": {"Fields": {"name": "fields", "in": "query",
                "schema": {"type": "array", "items": {"type": "string"}}}},
            "schemas": {"Pet": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "example": "Rex"},
                "mother": {"$ref": "#/components/schemas/Pet"},
                "tag": {"type": "string", "nullable": true},
            }}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    })
}

fn options(server: Option<&str>) -> OpenApiOptions {
    let mut options = OpenApiOptions::new("pets");
    options.server = server.map(|server| format!("{server}/v1/"));
    options.allow_private = true;
    options.credentials.insert("key".to_owned(), Secret::new("s3cret/key"));
    options
}

fn tools(document: &Value, options: &OpenApiOptions) -> OpenApiTools {
    let document = OpenApi::parse(&document.to_string()).unwrap();
    document.tools(&Arc::new(WebClient::new()), options).unwrap()
}

fn names(tools: &OpenApiTools) -> Vec<String> {
    tools.tools.iter().map(|tool| tool.spec().name.clone()).collect()
}

async fn call(tools: &OpenApiTools, name: &str, input: Value) -> ToolOutcome {
    let tool: &Arc<dyn Tool> = tools.tools.iter().find(|it| it.spec().name == name).unwrap();
    tool.run(input, ToolContext::detached()).await
}

#[tokio::test]
async fn tool_01_each_operation_is_a_tool_that_sends_its_request() {
    let (url, mut requests) = server(OK).await;
    let tools = tools(&petstore(), &options(Some(&url)));
    assert_eq!(names(&tools), ["pets_addPet", "pets_deletePet", "pets_getPet", "pets_post_login"]);
    let skipped: Vec<_> = tools.skipped.iter().map(|it| it.operation.as_str()).collect();
    assert_eq!(skipped, ["PUT /pets"], "{:?}", tools.skipped);
    assert!(tools.skipped[0].problem.contains("multipart/form-data"));

    let input = json!({"id": "a/b ?", "fields": ["name", "tag"], "X-Trace": "t"});
    let outcome = call(&tools, "pets_getPet", input).await;
    assert!(outcome.ok && outcome.text().contains("{\"ok\":true}"), "{}", outcome.text());
    let request = requests.recv().await.unwrap();
    let line = "GET /v1/pets/a%2Fb%20%3F?fields=name&fields=tag HTTP/1.1";
    assert!(request.starts_with(line), "{request}");
    let lower = request.to_lowercase();
    assert!(lower.contains("x-trace: t") && lower.contains("x-key: s3cret/key"), "{request}");

    let outcome = call(&tools, "pets_addPet", json!({"body": {"name": "Rex"}})).await;
    assert!(outcome.ok, "{}", outcome.text());
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /v1/pets HTTP/1.1"), "{request}");
    assert!(request.ends_with("{\"name\":\"Rex\"}"), "{request}");
    assert!(request.to_lowercase().contains("content-type: application/json"));

    let outcome = call(&tools, "pets_post_login", json!({"body": {"user": "a b", "n": 1}})).await;
    assert!(outcome.ok, "{}", outcome.text());
    let request = requests.recv().await.unwrap();
    assert!(request.ends_with("user=a+b&n=1"), "{request}");
    assert!(!request.contains("s3cret"), "an operation without security gets no credentials");
}

#[tokio::test]
async fn tool_01_arguments_cannot_leave_the_operation() {
    let (url, mut requests) = server(OK).await;
    let tools = tools(&petstore(), &options(Some(&url)));
    for id in ["..", ".", ""] {
        let outcome = call(&tools, "pets_deletePet", json!({"id": id})).await;
        assert!(!outcome.ok, "{id}");
    }
    assert!(!call(&tools, "pets_deletePet", json!({})).await.ok);
    let header = json!({"id": "1", "X-Trace": "a\r\nEvil: 1"});
    assert!(!call(&tools, "pets_getPet", header).await.ok);
    assert!(requests.try_recv().is_err(), "nothing was sent");
}

#[tokio::test]
async fn tool_01_private_addresses_are_refused_unless_allowed() {
    let (url, mut requests) = server(OK).await;
    let refused = OpenApiOptions { allow_private: false, ..options(Some(&url)) };
    let outcome = call(&tools(&petstore(), &refused), "pets_deletePet", json!({"id": "1"})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("private_address"), "{}", outcome.text());
    assert!(requests.try_recv().is_err());
    let client = WebClient::new();
    assert!(matches!(
        load(&format!("{url}/openapi.json"), &client, false).await,
        Err(OpenApiError::Fetch(WebError::Private { .. }))
    ));
}

#[tokio::test]
async fn tool_01_responses_are_bounded_and_redirects_not_followed() {
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n\
                ääääääääää";
    let (url, _requests) = server(long).await;
    let bounded = OpenApiOptions { max_response_bytes: 7, ..options(Some(&url)) };
    let outcome = call(&tools(&petstore(), &bounded), "pets_deletePet", json!({"id": "1"})).await;
    assert!(outcome.text().contains("\näää\n[the response is longer"), "{}", outcome.text());
    let elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n";
    let (url, mut requests) = server(elsewhere).await;
    let tools = tools(&petstore(), &options(Some(&url)));
    let outcome = call(&tools, "pets_deletePet", json!({"id": "1"})).await;
    assert!(!outcome.ok && outcome.text().contains("was not followed"), "{}", outcome.text());
    requests.recv().await.unwrap();
    assert!(requests.try_recv().is_err());
}

#[test]
fn tool_01_schemas_that_contain_themselves_are_cut() {
    let tools = tools(&petstore(), &options(None));
    let spec = tools.tools[0].spec();
    assert_eq!(spec.name, "pets_addPet");
    let pet = &spec.input_schema["properties"]["body"];
    assert_eq!(pet["properties"]["mother"], json!({}));
    assert_eq!(pet["properties"]["tag"]["type"], json!(["string", "null"]));
    assert_eq!(pet["properties"]["name"], json!({"type": "string"}), "without the example");
    assert_eq!(spec.input_schema["required"], json!(["body"]));
    let mut wide = petstore();
    let mut schema = json!({"type": "string"});
    for _ in 0..5 {
        schema = json!({"anyOf": vec![schema; 5]});
    }
    wide["components"]["schemas"]["Pet"] = schema;
    let document = OpenApi::parse(&wide.to_string()).unwrap();
    let made = document.tools(&Arc::new(WebClient::new()), &options(None)).unwrap();
    assert!(made.skipped.iter().any(|it| it.problem.contains("too large")), "{:?}", made.skipped);
    let mut circle = petstore();
    circle["components"]["parameters"]["Fields"] =
        json!({"$ref": "#/components/parameters/Fields"});
    let document = OpenApi::parse(&circle.to_string()).unwrap();
    let made = document.tools(&Arc::new(WebClient::new()), &options(None)).unwrap();
    assert!(made.skipped.iter().any(|it| it.problem.contains("refers to itself")));
}

#[test]
fn tool_01_filters_choose_operations() {
    let of = |include: &[&str], exclude: &[&str]| {
        let text = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let filter = OperationFilter { include: text(include), exclude: text(exclude) };
        names(&tools(&petstore(), &OpenApiOptions { filter, ..options(None) }))
    };
    assert_eq!(of(&["GET /pets/**"], &[]), ["pets_getPet"]);
    assert_eq!(of(&["tag:pets"], &[]), ["pets_getPet"]);
    assert_eq!(of(&["*Pet"], &["delete*"]), ["pets_addPet", "pets_getPet"]);
    let bad = OperationFilter { include: vec!["[".to_owned()], exclude: Vec::new() };
    let bad = OpenApiOptions { filter: bad, ..options(None) };
    let document = OpenApi::parse(&petstore().to_string()).unwrap();
    let failed = document.tools(&Arc::new(WebClient::new()), &bad);
    assert!(matches!(failed, Err(OpenApiError::Filter { .. })));
}

#[test]
fn tool_01_credentials_stay_with_their_server() {
    let client = Arc::new(WebClient::new());
    let document = OpenApi::parse(&petstore().to_string()).unwrap();
    let fetched = document.fetched_from("https://docs.example/openapi.json".parse().unwrap());
    let refused = fetched.tools(&client, &options(None));
    assert!(matches!(refused, Err(OpenApiError::OtherOrigin { .. })));
    let named = options(Some("https://pets.example"));
    assert!(fetched.tools(&client, &named).is_ok(), "the user named the server");
    let mut none = options(None);
    none.credentials.clear();
    let made = fetched.tools(&client, &none).unwrap();
    assert_eq!(names(&made), ["pets_post_login"], "the others need a credential");
    assert!(made.skipped[0].problem.contains("credentials for key"), "{:?}", made.skipped);
}

#[test]
fn tool_01_documents_are_json_or_yaml_of_version_3() {
    let yaml = "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      operationId: a\nservers:\n  - url: \
                https://{host}/x\n    variables:\n      host:\n        default: a.example\n";
    let document = OpenApi::parse(yaml).unwrap();
    let made = document.tools(&Arc::new(WebClient::new()), &OpenApiOptions::new("s")).unwrap();
    assert_eq!(names(&made), ["s_a"]);
    for bad in [
        "",
        "{",
        "openapi: 2.0\npaths: {}",
        r#"{"swagger": "2.0", "paths": {}}"#,
        r#"{"openapi": "3.0.0"}"#,
        "openapi: 3.0.0\npaths: &a {}\nx: *a",
    ] {
        assert!(matches!(OpenApi::parse(bad), Err(OpenApiError::Invalid(_))), "{bad}");
    }
}

#[tokio::test]
async fn tool_01_documents_are_loaded_from_files_and_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pets.json");
    std::fs::write(&file, petstore().to_string()).unwrap();
    let client = WebClient::new();
    assert!(load(file.to_str().unwrap(), &client, false).await.is_ok());
    let missing = folder.path().join("none.json");
    let missing = load(missing.to_str().unwrap(), &client, false).await;
    assert!(matches!(missing, Err(OpenApiError::Read { .. })));
    let (url, _requests) = server(OK).await;
    let wrong = load(&format!("{url}/openapi.json"), &client, true).await;
    assert!(matches!(wrong, Err(OpenApiError::Invalid(_))), "it answers, but with no document");
}

#[test]
fn tool_01_references_to_a_long_text_do_not_multiply_it() {
    let mut document = petstore();
    // The first operation refers to the text 1000 times, which as text would be 100 MB.
    let each = (0..1_000).map(|number| (format!("p{number}"), json!({"$ref": "#/x-long"})));
    let properties: serde_json::Map<_, _> = each.collect();
    document["x-long"] = json!({"type": "string", "description": "x".repeat(100_000)});
    document["paths"]["/pets"]["post"]["requestBody"]["content"]["application/json"]["schema"] =
        json!({"type": "object", "properties": properties});
    // And the second one in many parameters.
    let parameters = (0..1_000).map(|number| {
        json!({"name": format!("q{number}"), "in": "query", "schema": {"$ref": "#/x-long"}})
    });
    document["paths"]["/login"]["post"]["parameters"] = parameters.collect();
    let tools = tools(&document, &options(Some("http://127.0.0.1:1")));
    assert_eq!(names(&tools), ["pets_deletePet", "pets_getPet"]);
    for operation in ["POST /pets", "POST /login"] {
        let skipped = tools.skipped.iter().find(|it| it.operation == operation).unwrap();
        assert_eq!(skipped.problem, "its schema is too large");
    }
}
