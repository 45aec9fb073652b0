//! Parses condition values as numbers, dates, IP addresses and bytes.

use core::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::clock::Moment;
use crate::number::Number;

pub(super) fn number(text: &str) -> Option<Number> {
    Number::parse(text.trim().as_bytes()).ok()
}

/// The bytes of a base64 text.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

pub(super) fn flag(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// A date of the W3C's profile of ISO 8601, from a year to fractions of a second with `Z` or an offset, or seconds since the
/// epoch.
pub(super) fn date(text: &str) -> Option<Moment> {
    let text = text.trim();
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain(text) && text.len() > 4 {
        return text.parse().ok().map(Moment::from_seconds);
    }
    let (date, time) = text
        .split_once('T')
        .map_or((text, None), |(date, time)| (date, Some(time)));
    let shape: Vec<&str> = date.split('-').collect();
    if !shape.iter().all(|part| plain(part)) {
        return None;
    }
    let date = match (&shape[..], time) {
        ([year], None) => format!("{year}-01-01"),
        ([year, month], None) => format!("{year}-{month}-01"),
        ([_, _, _], _) => date.to_owned(),
        _ => return None,
    };
    let Some(time) = time else {
        return Moment::parse(&format!("{date}T00:00:00Z"));
    };
    let zone_at = time.find(['Z', '+', '-'])?;
    let (time, zone) = time.split_at(zone_at);
    let seconds = if time.matches(':').count() == 1 { ":00" } else { "" };
    let local = Moment::parse(&format!("{date}T{time}{seconds}Z"))?;
    let offset = offset(zone)?;
    Some(Moment::from_micros(
        local.micros().checked_sub(offset.checked_mul(1_000_000)?)?,
    ))
}

/// The seconds of `Z`, `+hh:mm` or `-hh:mm`.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, time) = zone.split_at_checked(1)?;
    // An offset has the form of a time of day.
    let seconds = Moment::parse(&format!("1970-01-01T{time}:00Z"))?.micros() / 1_000_000;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// A range of IP addresses: `203.0.113.0/24`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads a network of IPv4 or IPv6.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
        };
        Some(Network { address, bits })
    }

    /// Whether an address is in the range.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, expect) in [
            ("2026", "2026-01-01T00:00:00.000Z"),
            ("2026-03", "2026-03-01T00:00:00.000Z"),
            ("2026-03-04", "2026-03-04T00:00:00.000Z"),
            ("2026-03-04T05:06Z", "2026-03-04T05:06:00.000Z"),
            ("2026-03-04T05:06:07Z", "2026-03-04T05:06:07.000Z"),
            ("2026-03-04T05:06+02:00", "2026-03-04T03:06:00.000Z"),
            ("2026-03-04T05:06:07.5+02:00", "2026-03-04T03:06:07.500Z"),
            ("2026-03-04T05:06:07-01:30", "2026-03-04T06:36:07.000Z"),
            ("1772582767", "2026-03-04T00:06:07.000Z"),
            ("20260", "1970-01-01T05:37:40.000Z"),
        ] {
            assert_eq!(
                date(text).map(|moment| moment.to_string()).as_deref(),
                Some(expect),
                "{text}"
            );
        }
        for text in [
            "",
            "x",
            "2026-13",
            "2026-03-04T05:06",
            "2026-03-04T05:06:07+2",
            "2026-03-04T05:06:07+24:00",
            "2026-03-04T05:06:07+02:60",
            "2026-03-04T05:06:07+2:00",
            "2026-03-04T05:06:07++2:00",
            "2026-03-04T05:06:07+02:00:00",
            "2026-02-30",
            "2026-03T05:06Z",
            "+2026",
            "2026-+3-04",
            "2026-+3-04T05:06Z",
            "2026-03-",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn networks() {
        for (network, address, expect) in [
            ("203.0.113.0/24", "203.0.113.7", true),
            ("203.0.113.0/24", "203.0.114.7", false),
            ("203.0.113.7", "203.0.113.7", true),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("203.0.113.6/31", "203.0.113.7", true),
            ("203.0.113.6/31", "203.0.113.8", false),
            ("203.0.113.7/32", "203.0.113.6", false),
            ("128.0.0.0/1", "255.255.255.255", true),
            ("128.0.0.0/1", "127.255.255.255", false),
            ("203.0.113.0/24", "::ffff:203.0.113.7", false),
            ("2001:db8::/32", "2001:db8:1::2", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("2001:db8::2/127", "2001:db8::3", true),
            ("2001:db8::2/127", "2001:db8::4", false),
            ("2001:db8::2", "2001:db8::3", false),
            ("::/0", "1.2.3.4", false),
        ] {
            let network = Network::parse(network).unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                expect,
                "{network:?} {address}"
            );
        }
        for text in [
            "",
            "1.2.3",
            "1.2.3.4/33",
            "1.2.3.4/-1",
            "1.2.3.4/",
            "x/8",
            "::/129",
            "::/x",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
