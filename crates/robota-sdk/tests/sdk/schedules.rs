//! Schedules fire while a session is open.

use robota_runtime::SessionSchedules as _;
use robota_sdk::InteractiveEvent;
use robota_session::StartAt;

use crate::common::Scene;

#[tokio::test]
async fn kode_08_a_schedule_fires_in_every_open_session_unless_the_program_says_no() {
    for fires in [true, false] {
        let scene = Scene::new("- One.\n- Checked.\n");
        let session = scene.builder().schedules(fires).open().await.unwrap();
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
