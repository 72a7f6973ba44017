//! Schedules fire while a session is open.

use robota_runtime::SessionSchedules as _;
use robota_sdk::{BackgroundOptions, InteractiveEvent};
use robota_session::StartAt;

use crate::common::Scene;

#[tokio::test]
async fn kode_08_a_schedule_fires_in_every_open_session_unless_the_program_says_no() {
    for fires in [true, false] {
        let scene = Scene::new("- One.\n- Checked.\n");
        let session = scene
            .builder()
            .background(BackgroundOptions { schedules: fires, ..Default::default() })
            .open()
            .await
            .unwrap();
        session.session().schedule().every_steps(1, "Check the rules.").await.unwrap();
        let mut events = session.events(StartAt::Now).await.unwrap();
        session.submit("Go.").await.unwrap().result().await.unwrap();
        let mut completed = 0;
        while completed < if fires { 2 } else { 1 } {
            let event = events.next().await.unwrap().unwrap();
            completed += i32::from(matches!(event, InteractiveEvent::Complete(_)));
        }
        assert_eq!(scene.provider.requests().len(), if fires { 2 } else { 1 });
    }
}

#[tokio::test]
async fn kode_08_the_schedules_of_an_open_session_are_changed_by_command() {
    let scene = Scene::new("- Unused.\n");
    let session = scene.open().await;
    let run = async |arguments: &str| session.execute_command("schedule", arguments).await.unwrap();
    assert_eq!(run("").await.message, "The session has no schedules.");
    for (arguments, shown) in [
        ("add daily 09:00 in Europe/Stockholm Report.", "daily 09:00 Europe/Stockholm, next "),
        ("add weekly Mon 09:00 in the repo, look.", "weekly mon 09:00 UTC, next "),
        ("add cron */15 9-17 * * mon-fri Look.", "cron */15 9-17 * * mon-fri UTC, next "),
        ("add every 10m Check.", "every 600 s, next "),
        ("add every-steps 5 Remind.", "every 5 answers, after answers"),
    ] {
        let added = run(arguments).await;
        assert!(added.success && added.message.contains(shown), "{arguments}: {added:?}");
    }
    let list = session.session().schedule().list().await.unwrap();
    let prompts: Vec<_> = list.iter().map(|info| info.prompt()).collect();
    assert_eq!(prompts, ["Report.", "in the repo, look.", "Look.", "Check.", "Remind."]);
    let id = list[0].id.to_string();
    assert!(run(&format!("pause {id}")).await.message.contains("paused"));
    assert!(!run(&format!("resume {id}")).await.message.contains("paused"));
    let removed = run(&format!("remove {id}")).await;
    assert_eq!(removed.data["schedules"].as_array().unwrap().len(), 4);
    for wrong in ["add", "add daily 09:00", "add often Go.", "pause", "burn x"] {
        let refused = run(wrong).await;
        assert!(!refused.success && refused.message.starts_with("Usage: /schedule"), "{wrong}");
    }
    for (wrong, reason) in [
        ("add daily 25:00 Go.", "25:00"),
        ("add every 10 Go.", "10m"),
        ("add cron 0 0 30 2 * Go.", "a time that ever comes"),
        ("pause nothing", "nothing"),
    ] {
        let refused = run(wrong).await;
        assert!(!refused.success && refused.message.contains(reason), "{wrong}: {refused:?}");
    }
}
