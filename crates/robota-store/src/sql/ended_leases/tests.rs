use super::*;

#[test]
fn no_two_tokens_are_the_same() {
    let tokens: std::collections::HashSet<_> = (0..10_000).map(|_| fresh_token()).collect();
    assert_eq!(tokens.len(), 10_000);
    assert!(tokens.iter().all(|token| *token > 0));
}

#[tokio::test(start_paused = true)]
async fn expired_leases_are_forgotten() {
    let ended = EndedLeases::new(Duration::from_secs(30));
    ended.add(1);
    tokio::time::advance(Duration::from_secs(60)).await;
    ended.add(2);
    assert!(ended.contains(1) && ended.contains(2) && !ended.contains(3));
    tokio::time::advance(Duration::from_secs(1)).await;
    ended.add(3);
    assert!(!ended.contains(1) && ended.contains(2) && ended.contains(3));
}
