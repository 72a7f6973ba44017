//! Finds out which IP addresses are private: those of this machine and of local networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is not on the public internet.
///
/// ```
/// use robota_core::address::is_private;
///
/// assert!(is_private([192, 168, 0, 1].into()));
/// assert!(!is_private([1, 1, 1, 1].into()));
/// ```
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        // 0.0.0.0/8 (this network), 100.64.0.0/10 (carrier-grade NAT), 192.0.0.0/24 (protocol
        // assignments), 198.18.0.0/15 (benchmarks), 240.0.0.0/4 (reserved).
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240
}

fn v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded(address) {
        return v4(inner);
    }
    let first = address.segments()[0];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
        || first & 0xffc0 == 0xfec0
        || address.segments()[..2] == [0x2001, 0x0db8]
}

/// Returns the IPv4 address that is embedded in an IPv6 address.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let part = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // IPv4-mapped, and the old IPv4-compatible form (`::` and `::1` are not such addresses).
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(part(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(part(high, low)),
        // NAT64, and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(part(high, low)),
        [0x64, 0xff9b, 1, _, _, _, high, low] => Some(part(high, low)),
        [0x2002, high, low, ..] => Some(part(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
