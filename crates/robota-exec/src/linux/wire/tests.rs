use std::os::fd::AsFd as _;

use super::*;

fn request() -> LaunchRequest {
    LaunchRequest {
        launch: Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), OsString::from_vec(vec![b'\xff', b'\n', b'x'])],
            cwd: "/".into(),
            env: vec![("A".into(), "".into()), ("B".into(), "b=b".into())],
            terminal: true,
            wrapped: true,
            filter: vec![[1, 2, 3, 4, 5, 6, 7, 8]],
        },
        call: "call".into(),
        records: "/records".into(),
        survives_crash: true,
        grace_ms: 2_000,
    }
}

#[test]
fn a_request_arrives_with_its_descriptors() {
    let (here, there) = UnixStream::pair().unwrap();
    let (reading, writing) = io::pipe().unwrap();
    send(&here, &request(), &[writing.as_fd(), reading.as_fd()]).unwrap();
    drop(here);
    let (received, descriptors) = receive(&there).unwrap().unwrap();
    assert_eq!((received, descriptors.len()), (request(), 2));
    assert!(receive(&there).unwrap().is_none(), "the sender closed the socket");
}

#[test]
fn a_truncated_request_is_rejected() {
    let bytes = request().to_bytes();
    assert_eq!(LaunchRequest::read(&bytes), Some(request()));
    for cut in 0..bytes.len() {
        assert_eq!(LaunchRequest::read(&bytes[..cut]), None, "{cut}");
    }
}

#[test]
fn notices_and_commands_round_trip() {
    for notice in [
        Notice::Started { pid: 7, start_time: u64::MAX },
        Notice::Failed { errno: 2 },
        Notice::Exited { code: -1, no_children: true },
        Notice::Signalled { signal: 9, no_children: false },
        Notice::Clear,
        Notice::Taken,
    ] {
        assert_eq!(Notice::read(notice.to_bytes()), Some(notice));
    }
    assert_eq!(Notice::read([9; NOTICE]), None);
    assert_eq!(MonitorCommand::read(MonitorCommand::Kill as u8), Some(MonitorCommand::Kill));
    assert_eq!(MonitorCommand::read(0), None);
}
