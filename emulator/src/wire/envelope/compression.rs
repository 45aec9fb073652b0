//! gzip and deflate, both ways.

use std::borrow::Cow;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::digest::crc32;
use crate::limits::REQUEST_BODY;

/// Shorter answers are not compressed (measured: between 4,000 and 4,096 bytes).
const LEAST_COMPRESSED: usize = 4096;
/// Members of a gzip body that are inflated: an empty one is 20 bytes and costs about as much as any small one.
const MOST_MEMBERS: usize = 1024;
/// The header of a gzip member: deflated, without flags, fast, on an unknown system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// The number of bytes that are inflated in one step.
const STEP: usize = 32 * 1024;

/// Why a compressed body is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InflateError {
    /// Inflated, it is larger than a body may be.
    TooLarge,
    /// It is not in the format that its header names, or the format is unknown. The service fails on it.
    Broken,
}

/// The body behind its `Content-Encoding`.
pub(super) fn inflated<'a>(body: &'a [u8], encoding: Option<&[u8]>) -> Result<Cow<'a, [u8]>, InflateError> {
    let encoding = encoding.unwrap_or_default().trim_ascii();
    if encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity") {
        Ok(Cow::Borrowed(body))
    } else if encoding.eq_ignore_ascii_case(b"gzip") {
        gunzipped(body).map(Cow::Owned)
    } else if encoding.eq_ignore_ascii_case(b"deflate") {
        inflate_zlib(body).map(Cow::Owned)
    } else {
        Err(InflateError::Broken)
    }
}

/// The inflated bytes so far. Their capacity never exceeds the size of the largest body.
struct InflatedBody(Vec<u8>);

impl InflatedBody {
    fn take_in(&mut self, bytes: &[u8]) -> Result<(), InflateError> {
        let length = self.0.len() + bytes.len();
        if length > REQUEST_BODY {
            return Err(InflateError::TooLarge);
        }
        if length > self.0.capacity() {
            let room = length.max(self.0.capacity() * 2).min(REQUEST_BODY);
            self.0.reserve_exact(room - self.0.len());
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// All members of a gzip file, concatenated; trailing garbage is ignored, as the service does.
fn gunzipped(body: &[u8]) -> Result<Vec<u8>, InflateError> {
    let mut out = InflatedBody(Vec::new());
    let mut rest = body;
    for _ in 0..MOST_MEMBERS {
        let Some(header) = header_length(rest) else {
            // Bytes without a complete header are not a member, though they begin like one.
            let is_first = rest.len() == body.len();
            return if is_first { Err(InflateError::Broken) } else { Ok(out.0) };
        };
        let before = out.0.len();
        let length = header + inflate(&rest[header..], false, &mut out)?;
        let (trailer, behind) = rest[length..].split_first_chunk().ok_or(InflateError::Broken)?;
        if *trailer != trailer_of(&out.0[before..]) {
            return Err(InflateError::Broken);
        }
        rest = behind;
        if !rest.starts_with(&GZIP_HEADER[..2]) {
            return Ok(out.0);
        }
    }
    Err(InflateError::Broken)
}

/// The length of a gzip member's header (RFC 1952); `None` if it is not one.
fn header_length(bytes: &[u8]) -> Option<usize> {
    const CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const TEXTS: [u8; 2] = [8, 16];
    const RESERVED: u8 = 0xe0;
    let number = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut at = GZIP_HEADER.len();
    let flags = *bytes.get(..at)?.strip_prefix(&GZIP_HEADER[..3])?.first()?;
    if flags & RESERVED != 0 {
        return None;
    }
    if flags & EXTRA != 0 {
        at += 2 + usize::from(number(at)?);
    }
    for _ in TEXTS.iter().filter(|text| flags & **text != 0) {
        at += 1 + bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
    }
    if flags & CHECKSUM != 0 {
        if number(at)? != crc32(&bytes[..at]) as u16 {
            return None;
        }
        at += 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// The trailer of a gzip member: the checksum and the length of the plain bytes.
fn trailer_of(plain: &[u8]) -> [u8; 8] {
    let trailer = u64::from(crc32(plain)) | (plain.len() as u64) << 32;
    trailer.to_le_bytes()
}

/// One zlib stream and nothing behind it.
fn inflate_zlib(body: &[u8]) -> Result<Vec<u8>, InflateError> {
    let mut out = InflatedBody(Vec::new());
    if inflate(body, true, &mut out)? < body.len() {
        return Err(InflateError::Broken);
    }
    Ok(out.0)
}

/// Inflates the stream at the beginning of `bytes`, with zlib's header and trailer or without. Returns its length.
fn inflate(bytes: &[u8], zlib: bool, out: &mut InflatedBody) -> Result<usize, InflateError> {
    let mut step = vec![0; STEP];
    let mut decoder = Decompress::new(zlib);
    loop {
        let before = (decoder.total_in(), decoder.total_out());
        let rest = bytes.get(before.0 as usize..).ok_or(InflateError::Broken)?;
        let status = decoder
            .decompress(rest, &mut step, FlushDecompress::None)
            .map_err(|_| InflateError::Broken)?;
        let count = (decoder.total_out() - before.1) as usize;
        out.take_in(step.get(..count).ok_or(InflateError::Broken)?)?;
        match status {
            Status::StreamEnd => return Ok(decoder.total_in() as usize),
            _ if before == (decoder.total_in(), decoder.total_out()) => return Err(InflateError::Broken),
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
}

/// Compresses a response, if requested and worthwhile; returns the name of the encoding.
pub(super) fn compress(body: &mut Vec<u8>, accept: Option<&[u8]>) -> Option<&'static str> {
    if body.len() < LEAST_COMPRESSED {
        return None;
    }
    let coding = negotiated(accept?)?;
    *body = compressed(body, coding)?;
    Some(match coding {
        Coding::Gzip => "gzip",
        Coding::Deflate => "deflate",
    })
}

/// The compressed body. Never inlined: it needs 64 KB of stack, which its callers would touch in every request.
#[inline(never)]
fn compressed(body: &[u8], coding: Coding) -> Option<Vec<u8>> {
    let mut written = Vec::with_capacity(body.len() / 2);
    if coding == Coding::Gzip {
        written.extend(GZIP_HEADER);
    }
    let mut encoder = Compress::new(Compression::fast(), coding == Coding::Deflate);
    loop {
        written.reserve(STEP);
        let rest = body.get(encoder.total_in() as usize..)?;
        let status = encoder.compress_vec(rest, &mut written, FlushCompress::Finish).ok()?;
        if status == Status::StreamEnd {
            break;
        }
    }
    if coding == Coding::Gzip {
        written.extend(trailer_of(body));
    }
    Some(written)
}

/// The encoding that an `Accept-Encoding` selects, as the service interprets it (measured): the largest q wins, of
/// equals the first; `*` stands for all unnamed encodings and comes last.
fn negotiated(accept: &[u8]) -> Option<Coding> {
    let text = std::str::from_utf8(accept).ok()?;
    let mut best: Option<(f64, Coding)> = None;
    let mut offer = |quality: f64, coding| {
        if quality > 0.0 && best.is_none_or(|(most, _)| quality > most) {
            best = Some((quality, coding));
        }
    };
    let (mut gzip, mut deflate, mut others) = (false, false, 0.0);
    for entry in text.split(',') {
        let (name, parameters) = entry.split_once(';').unwrap_or((entry, ""));
        let quality = quality(parameters);
        match name.trim() {
            "*" => others = quality.max(others),
            name if name.eq_ignore_ascii_case("gzip") => {
                gzip = true;
                offer(quality, Coding::Gzip);
            }
            name if name.eq_ignore_ascii_case("deflate") => {
                deflate = true;
                offer(quality, Coding::Deflate);
            }
            _ => {}
        }
    }
    for (named, coding) in [(gzip, Coding::Gzip), (deflate, Coding::Deflate)] {
        if !named {
            offer(others, coding);
        }
    }
    best.map(|(_, coding)| coding)
}

/// The first q of an entry. It is ignored if a blank precedes its `=`; an unreadable value counts as 1, and so does
/// more than 1.
fn quality(parameters: &str) -> f64 {
    parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim_start().eq_ignore_ascii_case("q"))
        .and_then(|(_, value)| value.trim().parse::<f64>().ok())
        .filter(|quality| quality.is_finite())
        .map_or(1.0, |quality| quality.min(1.0))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::{GzEncoder, ZlibEncoder};
    use flate2::{Crc, GzBuilder};

    use super::*;

    #[test]
    fn accept_encoding() {
        let (gzip, deflate) = (Some(Coding::Gzip), Some(Coding::Deflate));
        for (accept, expect) in [
            ("gzip", gzip),
            ("GZIP", gzip),
            ("deflate", deflate),
            ("gzip, deflate", gzip),
            ("br, identity, deflate, gzip", deflate),
            ("*", gzip),
            ("*, deflate", deflate),
            ("*, gzip;q=0.5", deflate),
            ("*, gzip;q=0", deflate),
            ("*, gzip;q=0, deflate;q=0", None),
            ("*;q=0.5, deflate;q=0.2", gzip),
            ("*;q=0.5, gzip;q=0.2", deflate),
            ("*;q=0.2, *;q=0.5, gzip;q=0.3", deflate),
            ("*;q=0.2, gzip;q=0.3", gzip),
            ("*;q=0", None),
            ("*, *;q=0", gzip),
            ("gzip;Q=0", None),
            ("identity", None),
            ("", None),
            ("br", None),
            ("zstd", None),
            ("x-gzip", None),
            ("\"gzip\"", None),
            ("gzip br", None),
            ("gzip:q=1", None),
            ("gzip;q=0", None),
            ("gzip;q=0.5,identity;q=0.8", gzip),
            ("gzip;q=0.x", gzip),
            ("gzip;q=7, deflate", gzip),
            ("deflate, gzip;q=7", deflate),
            ("gzip;q =0;q=1", gzip),
            ("gzip;q= 0;q=1", None),
            ("gzip;q=0, gzip;q=1, gzip;q=0", gzip),
            ("gzip;q=-1", None),
            ("gzip;q=-1, deflate;q=0.1", deflate),
            ("gzip;q=nan", gzip),
            ("gzip;q=inf, deflate;q=0.9", gzip),
            ("deflate;q=0.9, gzip;q=inf", gzip),
            ("deflate;q=1, gzip;q=1.5", deflate),
            ("deflate;q=0.5, gzip;q=0.5", deflate),
            ("deflate;q=0.9, gzip", gzip),
            ("deflate;q=0.9, gzip;level=1", gzip),
            ("gzip;level=1;q=0.5, deflate;q=0.6", deflate),
            ("gzip; q=0, deflate", deflate),
            ("deflate;q=0.1,  gzip ;q= 0.2 ", gzip),
            ("DEFLATE", deflate),
        ] {
            assert_eq!(negotiated(accept.as_bytes()), expect, "{accept}");
        }
    }

    #[test]
    fn compressed_bodies_are_inflated() {
        let plain: Vec<u8> = (0..100_000u32).map(|at| (at % 251) as u8).collect();
        for coding in ["gzip", "deflate"] {
            let mut body = plain.clone();
            assert_eq!(compress(&mut body, Some(coding.as_bytes())), Some(coding));
            assert!(body.len() < plain.len());
            assert_eq!(inflated(&body, Some(coding.as_bytes())).unwrap(), plain);
            for cut in [0, 1, 5, 20, body.len() / 2, body.len() - 1] {
                assert_eq!(
                    inflated(&body[..cut], Some(coding.as_bytes())),
                    Err(InflateError::Broken),
                    "{coding} {cut}"
                );
            }
            assert_eq!(inflated(b"{}", Some(coding.as_bytes())), Err(InflateError::Broken));
            let twice = [body.as_slice(), &body].concat();
            let expect = if coding == "gzip" {
                Ok(Cow::Owned([plain.as_slice(), &plain].concat()))
            } else {
                Err(InflateError::Broken)
            };
            assert_eq!(inflated(&twice, Some(coding.as_bytes())), expect);
        }
        let mut member = plain.clone();
        compress(&mut member, Some(b"gzip"));
        for junk in [&b"junk"[..], b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x07junk", &member[..9]] {
            assert_eq!(inflated(&[&member, junk].concat(), Some(b"gzip")).unwrap(), plain);
        }
        let cut = [&member[..], &member[..20]].concat();
        assert!(inflated(&cut, Some(b"gzip")).is_err());
        assert_eq!(inflated(b"{}", Some(b"garbage")), Err(InflateError::Broken));
        for coding in ["gzip", "deflate"] {
            let mut body = plain.clone();
            compress(&mut body, Some(coding.as_bytes()));
            for (other, fits) in [
                ("gzip", "gzip"),
                ("GZIP", "gzip"),
                (" Deflate ", "deflate"),
                ("br", ""),
                ("x-gzip", ""),
            ] {
                assert_eq!(
                    inflated(&body, Some(other.as_bytes())).is_ok(),
                    fits == coding,
                    "{coding} {other}"
                );
            }
            assert_eq!(inflated(&body, None).unwrap(), body);
            assert_eq!(inflated(&body, Some(b"identity")).unwrap(), body);
        }
        assert_eq!(inflated(b"{}", Some(b" Identity ")).unwrap(), &b"{}"[..]);
        let mut short = vec![b'a'; LEAST_COMPRESSED - 1];
        assert_eq!(compress(&mut short, Some(b"gzip")), None);
        short.push(b'a');
        assert_eq!(compress(&mut short, Some(b"gzip")), Some("gzip"));
    }

    #[test]
    fn both_directions_match_the_library() {
        let plain = b"1234567890".repeat(1000);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&plain).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&plain).unwrap();
        for (coding, expect) in [("gzip", gzip.finish().unwrap()), ("deflate", zlib.finish().unwrap())] {
            let mut body = plain.clone();
            compress(&mut body, Some(coding.as_bytes()));
            assert!(body == expect, "{coding}");
        }
    }

    /// Each member has its own checksum and length; the limit is that of all together.
    #[test]
    fn members_are_concatenated() {
        let member = |plain: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        };
        let (one, two) = (member(b"{\"a\":"), member(b"1}"));
        let empty = member(b"");
        for (members, expect) in [
            (vec![&one, &two], &b"{\"a\":1}"[..]),
            (vec![&one, &empty, &two], b"{\"a\":1}"),
            (vec![&empty, &one], b"{\"a\":"),
            (vec![&two, &one], b"1}{\"a\":"),
        ] {
            let body = members.into_iter().flatten().copied().collect::<Vec<u8>>();
            assert_eq!(inflated(&body, Some(b"gzip")).unwrap(), expect);
        }
        // Each byte of the first or the second trailer decides.
        for at in (1..=8).flat_map(|back| [one.len() - back, one.len() + two.len() - back]) {
            let mut body = [one.as_slice(), &two].concat();
            body[at] ^= 1;
            assert_eq!(inflated(&body, Some(b"gzip")), Err(InflateError::Broken), "{at}");
        }
        // So does each of the first three bytes of the first header.
        for at in 0..3 {
            let mut body = one.clone();
            body[at] ^= 1;
            assert_eq!(inflated(&body, Some(b"gzip")), Err(InflateError::Broken), "{at}");
        }
        // The limit is that of all members together, and no more is allocated.
        let most = vec![b' '; REQUEST_BODY - 1];
        let body = [member(b" "), member(&most)].concat();
        let found = inflated(&body, Some(b"gzip")).unwrap().into_owned();
        assert_eq!((found.len(), found.capacity()), (REQUEST_BODY, REQUEST_BODY));
        for (rest, fits) in [(1, true), (2, false)] {
            let body = [member(&most), member(&b"  "[..rest])].concat();
            let found = inflated(&body, Some(b"gzip")).map(|body| body.len());
            assert_eq!(
                found,
                if fits {
                    Ok(REQUEST_BODY)
                } else {
                    Err(InflateError::TooLarge)
                }
            );
        }
    }

    #[test]
    fn a_header_has_the_parts_that_its_flags_name() {
        let mut whole = GzEncoder::new(Vec::new(), Compression::fast());
        whole.write_all(b"{}").unwrap();
        let whole = whole.finish().unwrap();
        let (header, rest) = whole.split_at(GZIP_HEADER.len());
        for (flags, parts, expect) in [
            (0, &b""[..], true),
            (1, b"", true),
            (8, b"name\0", true),
            (8, b"\0", true),
            (16, b"comment\0", true),
            (24, b"name\0comment\0", true),
            (4, b"\x03\x00abc", true),
            (4, b"\x00\x00", true),
            (28, b"\x01\x00\x00name\0\0", true),
            (0x20, b"", false),
            (0x40, b"", false),
            (0x80, b"", false),
        ] {
            let mut header = header.to_vec();
            header[3] = flags;
            let body = [&header, parts, rest].concat();
            assert_eq!(inflated(&body, Some(b"gzip")).is_ok(), expect, "{flags}");
        }
        // A length of more than a byte.
        let mut header = header.to_vec();
        header[3] = 4;
        let body = [&header[..], &300u16.to_le_bytes(), &[7; 300], rest].concat();
        assert_eq!(inflated(&body, Some(b"gzip")).unwrap(), &b"{}"[..]);
    }

    #[test]
    fn a_member_may_have_a_long_header() {
        let of_file = || {
            GzBuilder::new()
                .extra("extra")
                .filename("file")
                .comment("comment")
                .mtime(7)
        };
        let mut encoder = of_file().write(Vec::new(), Compression::fast());
        encoder.write_all(b"{}").unwrap();
        let mut member = encoder.finish().unwrap();
        assert_eq!(inflated(&member, Some(b"gzip")).unwrap(), &b"{}"[..]);
        let header = header_length(&member).unwrap();
        for cut in 0..member.len() {
            assert_eq!(header_length(&member[..cut]), (cut >= header).then_some(header));
            assert_eq!(inflated(&member[..cut], Some(b"gzip")), Err(InflateError::Broken));
        }
        let mut reserved = member.clone();
        reserved[3] |= 0x20;
        assert_eq!(inflated(&reserved, Some(b"gzip")), Err(InflateError::Broken));
        member[3] |= 2;
        let mut sum = Crc::new();
        sum.update(&member[..header]);
        let sum = (sum.sum() as u16).to_le_bytes();
        for (sum, expect) in [(sum, true), (sum.map(|byte| !byte), false)] {
            let member = [&member[..header], &sum, &member[header..]].concat();
            assert_eq!(inflated(&member, Some(b"gzip")).is_ok(), expect);
        }
        let last = member.len() - 1;
        member[last] ^= 1;
        assert_eq!(inflated(&member, Some(b"gzip")), Err(InflateError::Broken));
    }

    #[test]
    fn members_are_bounded() {
        let encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let empty = encoder.finish().unwrap();
        for (members, expect) in [
            (1, true),
            (MOST_MEMBERS, true),
            (MOST_MEMBERS + 1, false),
            (838_000, false),
        ] {
            let body = empty.repeat(members);
            let expect = if expect {
                Ok(Cow::Owned(Vec::new()))
            } else {
                Err(InflateError::Broken)
            };
            assert_eq!(inflated(&body, Some(b"gzip")), expect, "{members}");
        }
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        for (length, expect) in [
            (REQUEST_BODY, true),
            (REQUEST_BODY + 1, false),
            (REQUEST_BODY * 4, false),
        ] {
            let mut body = vec![b' '; length];
            compress(&mut body, Some(b"gzip"));
            assert!(body.len() < length / 100);
            let found = inflated(&body, Some(b"gzip"));
            assert_eq!(
                found.as_ref().map(|body| body.len()),
                if expect {
                    Ok(length)
                } else {
                    Err(&InflateError::TooLarge)
                }
            );
        }
    }
}
