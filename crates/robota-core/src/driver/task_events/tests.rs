use super::*;
use crate::event::ProcessStarted;

fn output(items: &[(Event, Option<Ack>)], call: &str) -> String {
    let texts = items.iter().filter_map(|(event, _)| match event {
        Event::ToolOutput(data) if data.call.as_str() == call => Some(data.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn process(call: &str, pid: u32) -> Event {
    let (call, boot_id) = (CallId::from(call), String::new());
    ProcessStarted { call, pid, start_time: 0, boot_id, background: false }.into()
}

#[test]
fn output_keeps_its_order_and_is_joined() {
    let queue = TaskEventQueue::default();
    let (a, b) = (CallId::from("a"), CallId::from("b"));
    for n in 0..10 {
        queue.push_output(&a, format!("{n},"));
    }
    queue.push_output(&b, "other".to_owned());
    queue.push_output(&a, "10".to_owned());
    let items = queue.take();
    assert_eq!(items.len(), 3, "neighbouring output of one call is one event");
    assert_eq!(output(&items, "a"), "0,1,2,3,4,5,6,7,8,9,10");
    assert_eq!(output(&items, "b"), "other");
    assert!(queue.is_empty());
}

#[test]
fn too_much_output_is_dropped_with_a_note_and_processes_are_kept() {
    let queue = TaskEventQueue::default();
    let call = CallId::from("a");
    let piece = "x".repeat(1000);
    for n in 0..2_000 {
        queue.push_output(&call, piece.clone());
        if n % 100 == 0 {
            queue.push(process("a", n));
        }
    }
    let items = queue.take();
    let processes = items.iter().filter(|(event, _)| matches!(event, Event::ProcessStarted(_)));
    assert_eq!(processes.count(), 20);
    let text = output(&items, "a");
    let kept = text.matches('x').count();
    let dropped = 2_000 * 1_000 - kept;
    assert!(dropped > 0 && kept <= MAX_WAITING);
    assert!(text.ends_with(&format!("[... {dropped} bytes of output were not recorded ...]\n")));

    queue.push_output(&call, "later".to_owned());
    assert_eq!(output(&queue.take(), "a"), "later", "it is said once");
}

#[tokio::test]
async fn a_closed_queue_answers_at_once() {
    let queue = TaskEventQueue::default();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.append(process("a", 1)).await }
    });
    queue.ready().await;
    queue.close();
    assert!(waiting.await.unwrap().is_err());
    assert!(queue.append(process("a", 2)).await.is_err());
}
