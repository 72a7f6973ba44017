//! Files that prompts mention.

use robota_core::env_ref::Secret;
use robota_core::message::Block;
use robota_core::permission::Mode;
use robota_sdk::mentions::Attached;
use robota_sdk::{
    Entered, InteractiveSession, Prepared, ProjectOptions, Prompt, PromptBlock, ShellRun,
};

use crate::common::Scene;

/// A PNG of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\x18\xdd\x8d\xb0\0\0\0\0IEND\xaeB`\x82";

async fn prepared(session: &InteractiveSession, text: &str) -> robota_sdk::PreparedPrompt {
    match session.prepare(text).await.unwrap() {
        Prepared::Prompt(prompt) => prompt,
        Prepared::Command(result) => panic!("{result:?}"),
    }
}

fn texts(content: &[Block]) -> Vec<&str> {
    let mut texts = Vec::new();
    for block in content {
        if let Block::Text(text) = block {
            texts.push(text.text.as_str());
        }
    }
    texts
}

#[tokio::test]
async fn mentioned_files_and_folders_are_attached() {
    let scene = Scene::new("- done\n");
    scene.write("project/a.txt", "one\ntwo\nthree\nfour\n");
    scene.write("project/dir/b c.txt", "with spaces\n");
    scene.write("project/dir/sub/x.txt", "deep\n");
    let session = scene.open().await;
    let typed =
        "See @a.txt#L2-3, @\"dir/b c.txt\", @dir and @missing.txt and `@a.txt` by @someone.";
    let prompt = prepared(&session, typed).await;
    let all = texts(&prompt.content);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[0], typed);
    assert!(all[1].starts_with("<file path=\"a.txt\" lines=\"2-3\">"), "{}", all[1]);
    assert!(all[1].contains("two") && all[1].contains("three") && !all[1].contains("four"));
    assert!(all[2].contains("with spaces"), "{}", all[2]);
    assert_eq!(all[3], "<folder path=\"dir\">\nb c.txt\nsub/\n</folder>");
    let kinds: Vec<_> = prompt.attachments.iter().map(|it| it.attached.clone()).collect();
    assert_eq!(kinds, [Attached::File, Attached::File, Attached::Folder]);
    let plain = session.prepare_prompt(Prompt::from(typed).without_mentions()).await;
    assert_eq!(plain.content.len(), 1);
}

/// The files, commands and skills of the user can show a secret as those of the model can.
#[tokio::test]
async fn sess_13_nothing_that_the_program_reads_for_a_prompt_contains_secrets() {
    const SECRET: &str = "sk-planted-secret-7b1f";
    let scene = Scene::new("- one\n- two\n- three\n");
    scene.write("project/.env", &format!("OPENAI_API_KEY={SECRET}\n"));
    let skill = "---\nallowed-tools: Bash(cat .env)\n---\nHere: !`cat .env` and @.env\n";
    scene.write("home/.claude/skills/show/SKILL.md", skill);
    let secrets = vec![Secret::new(SECRET)];
    let options = ProjectOptions { secrets, ..ProjectOptions::default() };
    let session = scene.builder_for(scene.project_with(options)).open().await.unwrap();
    let submit = async |text: &str| match session.enter(text).await.unwrap() {
        Entered::Submitted(submission) => drop(submission.result().await.unwrap()),
        Entered::Command(result) => panic!("{result:?}"),
    };
    submit("Look at @.env").await;
    submit("/show").await;
    let shown = session.run_shell("cat .env", ShellRun::default()).await.unwrap();
    assert_eq!(shown.text().trim(), "OPENAI_API_KEY=[REDACTED]");
    submit("And now?").await;
    let requests = scene.provider.requests();
    let sent = serde_json::to_string(&requests[2].messages).unwrap();
    // The mention, the command and the file of the skill, and the command of the user.
    assert_eq!(sent.matches("OPENAI_API_KEY=[REDACTED]").count(), 4, "{sent}");
    assert!(!sent.contains(SECRET), "{sent}");
    let journal = scene.store.read(session.id(), 0, usize::MAX).await.unwrap();
    let journal: String = journal.iter().map(|event| event.to_line()).collect();
    assert!(!journal.contains(SECRET), "{journal}");
}

#[tokio::test]
async fn only_what_the_user_typed_mentions_files() {
    let scene = Scene::new("- done\n");
    scene.write("project/a.txt", "mentioned by the user\n");
    scene.write("project/b.txt", "mentioned by a file\n");
    let session = scene.open().await;
    let blocks = vec![
        PromptBlock::Typed(Block::text("See @a.txt.")),
        PromptBlock::Embedded(Block::text("<resource>\n// See @b.txt and @a.txt#L1.\n</resource>")),
    ];
    let prompt = session.prepare_prompt(blocks).await;
    let all = texts(&prompt.content);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[2].contains("mentioned by the user"), "{all:?}");
    assert_eq!(prompt.attachments.len(), 1, "{:?}", prompt.attachments);
    // Hooks still judge the embedded text.
    let judged = prompt.metadata["raw"].as_str().unwrap();
    assert!(judged.contains("See @a.txt.") && judged.contains("See @b.txt"), "{judged}");
}

#[tokio::test]
async fn the_history_shows_what_the_user_typed_and_the_model_may_edit_the_file() {
    let edit =
        "{tools: [{tool: Edit, input: {file_path: a.txt, old_string: one, new_string: uno}}]}";
    let scene = Scene::new(&format!("- {edit}\n- done\n"));
    scene.write("project/a.txt", "one\n");
    std::fs::write(scene.path().join("project/p.png"), PNG).unwrap();
    let session = scene.open().await;
    let submission = match session.enter("Change @a.txt like @p.png").await.unwrap() {
        Entered::Submitted(submission) => submission,
        Entered::Command(result) => panic!("{result:?}"),
    };
    assert_eq!(submission.result().await.unwrap().response, "done");
    assert_eq!(std::fs::read_to_string(scene.path().join("project/a.txt")).unwrap(), "uno\n");
    let request = &scene.provider.requests()[0];
    let sent = &request.messages.last().unwrap().content;
    assert!(sent.iter().any(|block| matches!(block, Block::Image(_))), "{sent:?}");
    assert!(texts(sent).iter().any(|text| text.contains("<file path=\"a.txt\">")));
    let history = session.conversation().full_history().await.unwrap();
    let first = serde_json::to_value(&history[0]).unwrap();
    assert_eq!(first["data"]["content"].as_array().unwrap().len(), 2, "{first}");
    assert_eq!(first["data"]["content"][0]["text"], "Change @a.txt like @p.png");
    assert_eq!(first["data"]["metadata"]["attachments"][1]["attached"], "image", "{first}");
}

#[tokio::test]
async fn read_rules_hold_for_mentions() {
    let scene = Scene::new("- done\n");
    for (name, text) in [
        ("project/secret/key.txt", "top secret"),
        ("project/.env", "TOKEN=top secret"),
        ("outside.txt", "top secret"),
    ] {
        scene.write(name, text);
    }
    scene.write("project/dir/open.txt", "open");
    scene.write("project/dir/closed.txt", "top secret");
    scene.write(
        "home/.robota/settings.json",
        r#"{"permissions": {"deny": ["Read(secret/**)", "Read(dir/closed.txt)", "Read(.env)"]}}"#,
    );
    let options = ProjectOptions { mode: Some(Mode::Default), ..ProjectOptions::default() };
    let model = robota_sdk::ModelSetup::new(scene.provider.clone(), "scripted");
    let session = InteractiveSession::builder(scene.project_with(options), model)
        .store(scene.store.clone())
        .open()
        .await
        .unwrap();
    let prompt =
        prepared(&session, "@secret/key.txt @.env @../outside.txt @dir @dir/closed.txt").await;
    let all = texts(&prompt.content).join("\n");
    assert!(!all.contains("top secret"), "{all}");
    assert!(all.contains("open.txt") && !all.contains("\nclosed.txt"), "{all}");
    let refused =
        prompt.attachments.iter().filter(|it| matches!(it.attached, Attached::Nothing { .. }));
    assert_eq!(refused.count(), 4, "{:?}", prompt.attachments);
}

#[tokio::test]
async fn attachments_are_capped() {
    let scene = Scene::new("- done\n");
    for number in 0..30 {
        scene.write(&format!("project/f{number}.txt"), &"long line of text\n".repeat(1_500));
    }
    let session = scene.open().await;
    let names: Vec<_> = (0..30).map(|number| format!("@f{number}.txt")).collect();
    let prompt = prepared(&session, &names.join(" ")).await;
    let bytes: usize = texts(&prompt.content).iter().map(|text| text.len()).sum();
    assert!(bytes < 300 * 1024, "{bytes}");
    assert!(prompt.attachments.len() == 30);
    assert!(matches!(prompt.attachments[29].attached, Attached::Nothing { .. }));
}

#[tokio::test]
async fn hooks_judge_what_the_user_typed() {
    let scene = Scene::new("- done\n");
    scene.write("project/a.txt", "the content\n");
    let hook = format!("cat > {}", scene.path().join("seen.json").display());
    scene.write(
        "home/.robota/settings.json",
        &serde_json::json!({"hooks": {"UserPromptSubmit": [
            {"hooks": [{"type": "command", "command": hook}]}
        ]}})
        .to_string(),
    );
    let session = scene.open().await;
    session.submit("Look at @a.txt").await.unwrap().result().await.unwrap();
    let seen = std::fs::read_to_string(scene.path().join("seen.json")).unwrap();
    assert!(seen.contains("Look at @a.txt") && !seen.contains("the content"), "{seen}");
}
