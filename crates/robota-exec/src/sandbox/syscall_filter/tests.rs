use super::*;

/// Runs a filter on one call, as the kernel does.
fn run(filter: &[BpfInstruction], arch: u32, number: u32, arguments: [u64; 2]) -> u32 {
    let mut data = Vec::new();
    data.extend(number.to_ne_bytes());
    data.extend(arch.to_ne_bytes());
    data.extend([0; 8]);
    data.extend(arguments.iter().flat_map(|argument| argument.to_ne_bytes()));
    let (mut at, mut value) = (0, 0_u32);
    loop {
        let [a, b, jt, jf, k @ ..] = filter[at];
        let (code, k) = (u16::from_ne_bytes([a, b]), u32::from_ne_bytes(k));
        let jump = |taken| usize::from(if taken { jt } else { jf });
        at += 1;
        match code {
            LOAD => {
                let from = usize::try_from(k).unwrap();
                value = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
            }
            AND => value &= k,
            JUMP => at += usize::try_from(k).unwrap(),
            JUMP_IF_EQUAL => at += jump(value == k),
            JUMP_IF_AT_LEAST => at += jump(value >= k),
            JUMP_IF_ANY_BIT => at += jump(value & k != 0),
            RETURN => return k,
            other => panic!("unknown instruction {other}"),
        }
    }
}

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap()
}

#[test]
fn every_call_gets_its_action() {
    let arch = ARCHITECTURE.unwrap();
    for (network, attributes) in [(false, false), (false, true), (true, false), (true, true)] {
        let filter = build(network, attributes).unwrap();
        assert!(filter.len() < 200, "{} instructions", filter.len());
        let conditional = [libc::SYS_ioctl, libc::SYS_clone, libc::SYS_socketpair];
        for call in (0..600).filter(|call| !conditional.map(number).contains(call)) {
            let listed = |list: &[libc::c_long]| list.iter().any(|other| number(*other) == call);
            let denied = listed(DENIED)
                || (!attributes && listed(CHANGES))
                || (!network && call == number(libc::SYS_socket));
            let expected = match call {
                _ if call == number(libc::SYS_clone3) => HIDE,
                _ if denied => DENY,
                _ => ALLOW,
            };
            assert_eq!(run(&filter, arch, call, [0; 2]), expected.k, "call {call}");
            assert_eq!(run(&filter, arch, call | 0x4000_0000, [0; 2]), HIDE.k, "call {call}");
            assert_eq!(run(&filter, arch ^ 1, call, [0; 2]), KILL.k, "call {call}");
        }
        let judge = |call, arguments| run(&filter, arch, number(call), arguments);
        for request in [TIOCSTI, TIOCLINUX] {
            assert_eq!(judge(libc::SYS_ioctl, [0, request.into()]), DENY.k);
            assert_eq!(judge(libc::SYS_ioctl, [0, u64::from(request) | 1 << 32]), DENY.k);
        }
        for request in CHANGING_REQUESTS {
            let expected = if attributes { ALLOW } else { DENY };
            assert_eq!(judge(libc::SYS_ioctl, [0, request.into()]), expected.k);
        }
        assert_eq!(judge(libc::SYS_ioctl, [0, 0x5401]), ALLOW.k);
        for flag in NAMESPACES {
            let flags = u64::from(flag.unsigned_abs()) | 0x11;
            assert_eq!(judge(libc::SYS_clone, [flags, 0]), DENY.k);
        }
        assert_eq!(judge(libc::SYS_clone, [0x11, 0]), ALLOW.k);
        for domain in 0..20 {
            for kind in 0..0x20 {
                let local = domain == u64::from(libc::AF_UNIX.unsigned_abs());
                let connected = matches!(kind & 0xf, 1 | 5);
                let allowed = network || (local && connected);
                let expected = if allowed { ALLOW } else { DENY };
                let pair = judge(libc::SYS_socketpair, [domain, kind | 0x80000]);
                assert_eq!(pair, expected.k, "{domain} {kind}");
            }
        }
    }
}
