//! Plugins of a session (CORE-27), and what bundle plugins add to it (SDK-22).

use robota_config::Places;
use robota_config::plugins::{PluginScope, Plugins};
use robota_core::permission::Mode;
use robota_core::plugin::{HistoryPlugin, LimitsPlugin, RunLimits};
use robota_sdk::run_plugins::{FileStorage, WebhookPlugin};
use robota_tools::web::Proxies;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::common::Scene;

/// Accepts one request, and returns its body.
async fn accept(listener: TcpListener) -> Value {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut text = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        text.extend_from_slice(&bytes[..read]);
        let seen = String::from_utf8_lossy(&text).into_owned();
        let Some((_, body)) = seen.split_once("\r\n\r\n") else { continue };
        if let Ok(body) = serde_json::from_str(body) {
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            return body;
        }
    }
}

#[tokio::test]
async fn core_27_a_session_has_plugins_and_a_webhook_is_notified() {
    let scene = Scene::new("- Hello.\n");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/runs", listener.local_addr().unwrap());
    let file = scene.path().join("history.jsonl");
    let minute = RunLimits::every(std::time::Duration::from_secs(60));
    let builder = scene
        .builder()
        .plugin(HistoryPlugin::new(FileStorage::new(&file)))
        .plugin(WebhookPlugin::new(&url, Proxies::default()).allow_private())
        .plugin(LimitsPlugin::new(RunLimits { runs: Some(1), ..minute }));
    let session = builder.open().await.unwrap();
    let notified = tokio::spawn(accept(listener));
    session.submit("Hi.").await.unwrap().result().await.unwrap();
    let body = notified.await.unwrap();
    assert_eq!((&body["event"], &body["end"]), (&json!("run_ended"), &json!("complete")));
    assert!(!body.to_string().contains("Hello."), "no content: {body}");
    let history = HistoryPlugin::new(FileStorage::new(&file)).messages().unwrap();
    let texts: Vec<_> = history.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Hi.", "Hello."]);
    let _ = session.submit("Again.").await.unwrap().result().await;
    assert_eq!(scene.provider.requests().len(), 1, "the limit blocks the second run");
}

#[tokio::test]
async fn sdk_22_programs_styles_and_options_of_a_plugin_reach_the_session() {
    let bash =
        |command: &str| format!("{{tools: [{{tool: Bash, input: {{command: {command}}}}}]}}");
    let scene = Scene::new(&format!("- {}\n- done\n", bash("hello-plugin")));
    let manifest =
        r#"{"name": "tools", "userConfig": {"word": {"type": "string", "required": true}}}"#;
    scene.write("source/plugin.json", manifest);
    let style = "---\nname: Loud\nforce-for-plugin: true\n---\nSpeak loudly.\n";
    scene.write("source/output-styles/loud.md", style);
    scene.write("source/bin/hello-plugin", "#!/bin/sh\necho hello from the plugin\n");
    let seen = scene.path().join("seen");
    let hook = format!("printf %s \"${{user_config.word}}\" > '{}'", seen.display());
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": hook}]}]}});
    scene.write("source/hooks/hooks.json", &hooks.to_string());
    let program = scene.path().join("source/bin/hello-plugin");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).unwrap();
    scene.project();
    let places = Places::new(scene.path().join("home"), scene.path().join("project"));
    let mut plugins = Plugins::load(&places);
    plugins.install(&scene.path().join("source"), PluginScope::User).unwrap();
    plugins.enable("tools").unwrap();
    let notices = scene.project().notices();
    let missing = notices.iter().any(|it| format!("{it:?}").contains("needs the option `word`"));
    assert!(missing, "{notices:?}");
    let word = "it's; touch $HOME/bad";
    let settings = json!({"pluginConfigs": {"tools": {"options": {"word": word}}}});
    scene.write("home/.robota/settings.json", &settings.to_string());
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    let done = session.submit("Go.").await.unwrap().result().await.unwrap();
    let output = done.tools[0].output.as_deref().unwrap();
    assert!(output.contains("hello from the plugin"), "{output}");
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("Speak loudly."), "{system}");
    assert_eq!(std::fs::read_to_string(seen).unwrap(), word);
    assert!(!scene.path().join("home/bad").exists());
}
