use futures::StreamExt as _;
use robota_core::ids::RandomIds;

use super::*;

fn note(number: u32) -> ServerSseMessage {
    let message = serde_json::json!({
        "jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": number},
    });
    ServerSseMessage::from_message(serde_json::from_value(message).unwrap())
}

fn response() -> ServerSseMessage {
    let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    ServerSseMessage::from_message(serde_json::from_value(message).unwrap())
}

#[tokio::test]
async fn a_client_continues_after_its_last_event() {
    let events = Events::new(Arc::new(RandomIds));
    let first = events.store_event("a", &note(1)).await.unwrap();
    let second = events.store_event("a", &note(2)).await.unwrap();
    let other = events.store_event("b", &note(3)).await.unwrap();
    let (name, number) = first.rsplit_once('.').unwrap();
    assert_eq!(number, "1");
    assert!(name.len() >= 32 && !other.starts_with(name), "{first} {other}");
    let mut replayed = events.replay_events_after(&first).await.unwrap();
    assert_eq!(replayed.next().await.unwrap().event_id.as_deref(), Some(second.as_str()));
    // The stream continues with live events, and ends with the response.
    let third = events.store_event("a", &response()).await.unwrap();
    let rest: Vec<_> = replayed.collect().await;
    let ids: Vec<_> = rest.iter().map(|event| event.event_id.as_deref().unwrap()).collect();
    assert_eq!(ids, [third]);
}

#[tokio::test]
async fn unknown_events_are_refused_and_old_ones_forgotten() {
    let events = Events::new(Arc::new(RandomIds));
    let first = events.store_event("a", &note(1)).await.unwrap();
    let (name, _) = first.rsplit_once('.').unwrap();
    for id in ["", "1", "a.1", "0.0", &format!("{name}.2"), &format!("{name}.x")] {
        assert!(events.replay_events_after(id).await.is_err(), "{id}");
    }
    for number in 0..KEPT_EVENTS as u32 + 5 {
        events.store_event("a", &note(number)).await.unwrap();
    }
    assert!(events.replay_events_after(&first).await.is_err(), "a gap is not passed over");
    for stream in 0..KEPT_STREAMS {
        events.store_event(&format!("s{stream}"), &note(0)).await.unwrap();
    }
    assert!(lock(&events.streams).by_name.len() <= KEPT_STREAMS);
}

#[tokio::test]
async fn large_events_are_kept_up_to_a_limit() {
    let events = Events::new(Arc::new(RandomIds));
    let large = || {
        let data = "x".repeat(KEPT_BYTES / 4);
        let result = serde_json::json!({"content": [{"type": "text", "text": data}]});
        let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": result});
        ServerSseMessage::from_message(serde_json::from_value(message).unwrap())
    };
    for stream in 0..6 {
        events.store_event(&format!("s{stream}"), &note(0)).await.unwrap();
        events.store_event(&format!("s{stream}"), &large()).await.unwrap();
        assert!(lock(&events.streams).bytes <= KEPT_BYTES);
    }
    assert_eq!(lock(&events.streams).by_name.len(), 3);
    for _ in 0..6 {
        events.store_event("one", &large()).await.unwrap();
    }
    let streams = lock(&events.streams);
    assert_eq!((streams.by_name.len(), streams.order.len(), streams.names.len()), (1, 1, 1));
    let kept = streams.by_name.values().map(|stream| stream.events.len()).sum::<usize>();
    assert!((2..=4).contains(&kept) && streams.bytes <= KEPT_BYTES, "{kept}");
}
