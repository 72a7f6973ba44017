use super::*;

fn watch(limits: TaskLimits) -> Watchdog {
    Watchdog::new(limits, Instant::now())
}

#[tokio::test(start_paused = true)]
async fn run_02_text_is_limited() {
    let mut dog = watch(TaskLimits { output: Some(10), ..TaskLimits::NONE });
    assert_eq!(dog.text("12345", 1, 0, Instant::now()), None);
    assert_eq!(dog.text("12345", 1, 0, Instant::now()), None);
    assert_eq!(dog.text("1", 1, 0, Instant::now()), Some(TimeoutReason::OutputLimit));
    let mut dog = watch(TaskLimits { pieces: Some(2), ..TaskLimits::NONE });
    assert_eq!(dog.text("a", 2, 0, Instant::now()), None);
    assert_eq!(dog.text("a", 1, 0, Instant::now()), Some(TimeoutReason::TextDeltas));
}

#[tokio::test(start_paused = true)]
async fn run_02_repetition_is_found_at_any_period_up_to_the_window() {
    for period in ["a", "abc", "I will now look at it. ", &"x1y2z3.".repeat(9)] {
        let mut dog = watch(TaskLimits { repetition: Some((80, 4)), ..TaskLimits::NONE });
        let text = period.repeat(500);
        let found = text.as_bytes().chunks(7).any(|piece| {
            let piece = std::str::from_utf8(piece).unwrap();
            dog.text(piece, 1, 0, Instant::now()) == Some(TimeoutReason::Repetition)
        });
        assert!(found, "{period}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_02_ordinary_text_is_no_repetition() {
    let mut dog = watch(TaskLimits { repetition: Some((80, 4)), ..TaskLimits::NONE });
    for number in 0..500 {
        let line = format!("line {number}: the same words with another number\n");
        assert_eq!(dog.text(&line, 1, 0, Instant::now()), None);
    }
}

#[tokio::test(start_paused = true)]
async fn run_02_a_task_that_waits_for_a_tool_is_not_idle() {
    let start = Instant::now();
    let limit = Duration::from_secs(10);
    let mut dog = watch(TaskLimits { idle: Some(limit), ..TaskLimits::NONE });
    assert_eq!(dog.deadline(), Some((start + limit, TimeoutReason::Idle)));
    dog.busy(true, start);
    assert_eq!(dog.deadline(), None);
    tokio::time::advance(Duration::from_secs(60)).await;
    dog.busy(false, Instant::now());
    assert_eq!(dog.deadline(), Some((Instant::now() + limit, TimeoutReason::Idle)));
}
