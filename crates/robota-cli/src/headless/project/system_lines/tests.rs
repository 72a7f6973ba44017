use std::time::Duration;

use super::*;

#[test]
fn the_most_used_limit_counts() {
    let limit = |name: &str, remaining: u64| RateLimit {
        name: name.to_owned(),
        limit: Some(100),
        remaining: Some(remaining),
        reset: Some(Duration::from_secs(60)),
    };
    let info = |limits: Vec<RateLimit>| rate_limit_info(&RateLimits(limits), Timestamp::UNIX_EPOCH);
    for (remaining, status, share) in [
        (90, RateLimitStatus::Allowed, 0.1),
        (10, RateLimitStatus::AllowedWarning, 0.9),
        (0, RateLimitStatus::Rejected, 1.0),
    ] {
        let info = info(vec![limit("requests", 95), limit("tokens", remaining)]);
        assert_eq!((info.status, info.resets_at), (status, Some(60)));
        assert!((info.utilization.unwrap() - share).abs() < 1e-9, "{info:?}");
    }
    assert_eq!(info(Vec::new()).status, RateLimitStatus::Allowed);
}
