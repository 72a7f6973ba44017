use std::os::fd::AsFd as _;

use super::*;

fn order() -> Order {
    Order {
        launch: Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), OsString::from_vec(vec![b'\xff', b'\n', b'x'])],
            cwd: "/".into(),
            env: vec![("A".into(), "".into()), ("B".into(), "b=b".into())],
            terminal: true,
            filter: vec![[1, 2, 3, 4, 5, 6, 7, 8]],
        },
        call: "call".into(),
        records: "/records".into(),
        lives_on: true,
        grace_ms: 2_000,
    }
}

#[test]
fn an_order_arrives_with_its_descriptors() {
    let (here, there) = UnixStream::pair().unwrap();
    let (reading, writing) = io::pipe().unwrap();
    send(&here, &order(), &[writing.as_fd(), reading.as_fd()]).unwrap();
    drop(here);
    let (got, descriptors) = receive(&there).unwrap().unwrap();
    assert_eq!((got, descriptors.len()), (order(), 2));
    assert!(receive(&there).unwrap().is_none(), "nobody is left");
}

#[test]
fn what_is_cut_is_no_order() {
    let bytes = order().to_bytes();
    assert_eq!(Order::read(&bytes), Some(order()));
    for cut in 0..bytes.len() {
        assert_eq!(Order::read(&bytes[..cut]), None, "{cut}");
    }
}

#[test]
fn notices_and_words_come_back() {
    for notice in [
        Notice::Started { pid: 7, start_time: u64::MAX },
        Notice::Failed { errno: 2 },
        Notice::Exited { code: -1, alone: true },
        Notice::Signalled { signal: 9, alone: false },
        Notice::Clear,
        Notice::Taken,
    ] {
        assert_eq!(Notice::read(notice.to_bytes()), Some(notice));
    }
    assert_eq!(Notice::read([9; NOTICE]), None);
    assert_eq!(Word::read(Word::Kill as u8), Some(Word::Kill));
    assert_eq!(Word::read(0), None);
}
