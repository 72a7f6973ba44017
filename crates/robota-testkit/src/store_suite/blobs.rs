//! Blobs.

use robota_core::blob::BLOB_LIMIT;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::BlobRef;

use super::{create_session, cursor, envelope, id, rejected};

/// Blobs are stored and read by their hash.
pub async fn sess_13_blobs_are_stored_by_their_hash(store: &dyn JournalStore) {
    let writer = create_session(store, &id("s"), 1).await;
    let blobs = store.blobs(&id("s"));
    let big = vec![7; 3 * 1024 * 1024];
    for bytes in [&b""[..], b"some bytes", &[0, 255, 10], &big] {
        let blob = blobs.put(bytes).await.expect("put");
        assert_eq!(blob, BlobRef::of(bytes));
        assert_eq!(blobs.put(bytes).await.expect("put again"), blob);
        assert_eq!(blobs.get(&blob).await.expect("get").as_deref(), Some(bytes));
    }
    let missing = BlobRef::of(b"never kept");
    assert_eq!(blobs.get(&missing).await.expect("get"), None);
    let hostile = BlobRef { sha256: "../../../etc/passwd".to_owned(), bytes: 1 };
    assert_eq!(blobs.get(&hostile).await.expect("get"), None);
    // One byte more than the limit.
    let error = rejected(blobs.put(&vec![0; BLOB_LIMIT + 1]).await);
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error}");
    drop(writer);
}

/// A blob stays for as long as a session refers to it.
pub async fn sess_13_blobs_are_deleted_with_their_last_reference(store: &dyn JournalStore) {
    let (one, two, fork) = (id("one"), id("two"), id("fork"));
    drop(create_session(store, &one, 2).await);
    drop(create_session(store, &two, 2).await);
    let put = async |session, bytes: &[u8]| store.blobs(session).put(bytes).await.expect("put");
    let (only, both) = (put(&one, b"only one").await, put(&one, b"both").await);
    put(&two, b"both").await;
    let forked = put(&two, b"two and its fork").await;
    let first = [envelope(2, 3, robota_core::event::Renamed { name: "x".to_owned() })];
    drop(store.fork(&two, cursor(1, 2), &fork, &first).await.expect("fork"));

    let exists = async |session, blob: &BlobRef| {
        store.blobs(session).get(blob).await.expect("get").is_some()
    };
    assert!(store.delete(&one).await.expect("delete"));
    assert!(!exists(&two, &only).await);
    assert!(exists(&two, &both).await);
    assert!(store.delete(&two).await.expect("delete"));
    assert!(exists(&fork, &forked).await);
    assert!(exists(&fork, &both).await);
    assert!(store.delete(&fork).await.expect("delete"));
    assert!(!exists(&fork, &forked).await);
    assert!(!exists(&fork, &both).await);
}
