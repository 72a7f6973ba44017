use std::time::Duration;

use super::*;

#[tokio::test(start_paused = true)]
async fn requests_after_the_end_fail_at_once() {
    let (out, mut lines) = mpsc::channel(8);
    let connection = Arc::new(Connection::new(out));
    connection.end();
    let limit = Duration::from_secs(60);
    let params = json!({});
    let asked = connection.request::<Value>("fs/read_text_file", &params);
    assert!(tokio::time::timeout(limit, asked).await.unwrap().is_err());
    let created = connection.request_owned("terminal/create", &params, |it: Value| it);
    assert!(tokio::time::timeout(limit, created).await.unwrap().unwrap().is_err());
    // Nothing keeps the output open.
    drop(connection);
    assert_eq!(lines.recv().await, None);
}
