//! Finds the end of the plain part of a JSON string, for the reader and the writer.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// The bit that puts the quote right behind the control characters: 0x22 becomes 0x20, and 0x20 becomes 0x22.
const FLIPPED: u8 = 2;

/// The number of bytes before the first quote, backslash or control character, or before the end.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    // Most names and many texts end within the first eight bytes.
    match bytes.split_first_chunk::<8>() {
        Some((chunk, rest)) => match specials(u64::from_le_bytes(*chunk)) {
            0 => 8 + plain_length_of_long(rest),
            special => (special.trailing_zeros() / 8) as usize,
        },
        None => plain_bytes(bytes),
    }
}

/// Words that are examined one by one before larger steps pay off.
const WORDS: usize = 3;
/// Bytes of the larger steps.
const BLOCK: usize = 64;
const LARGE_BLOCK: usize = 256;

#[inline(never)]
fn plain_length_of_long(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(WORDS).enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return 8 * at + (special.trailing_zeros() / 8) as usize;
        }
    }
    if words.len() <= WORDS {
        return 8 * words.len() + plain_bytes(rest);
    }
    8 * WORDS + plain_length_of_very_long(&bytes[8 * WORDS..])
}

#[inline(never)]
fn plain_length_of_very_long(bytes: &[u8]) -> usize {
    let mut plain = plain_blocks::<LARGE_BLOCK>(bytes);
    plain += plain_blocks::<BLOCK>(&bytes[plain..]);
    let (words, rest) = bytes[plain..].as_chunks::<8>();
    for word in words {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return plain + (special.trailing_zeros() / 8) as usize;
        }
        plain += 8;
    }
    plain + plain_bytes(rest)
}

fn plain_bytes(bytes: &[u8]) -> usize {
    let plain = bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..0x20));
    plain.count()
}

/// The number of bytes in blocks before the first block with a special byte.
fn plain_blocks<const SIZE: usize>(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<SIZE>();
    SIZE * blocks.iter().take_while(|block| is_plain(block)).count()
}

/// Whether no byte of a block is special. The compiler turns this loop into vector instructions; without optimization it
/// takes a quarter of the time that iterators and `min` would.
///
/// Of all bytes, the quote and the control characters alone are at most 0x20 once their second bit is flipped.
fn is_plain<const SIZE: usize>(block: &[u8; SIZE]) -> bool {
    let mut least = u8::MAX;
    let mut at = 0;
    while at < SIZE {
        let control = (block[at] ^ FLIPPED).saturating_sub(0x20);
        if control < least {
            least = control;
        }
        let backslash = block[at] ^ b'\\';
        if backslash < least {
            least = backslash;
        }
        at += 1;
    }
    least != 0
}

/// The high bit of each byte that is special. A borrow can mark plain bytes above a special one, never below the first.
pub(super) const fn specials(word: u64) -> u64 {
    let flipped = word ^ (ONES * FLIPPED as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let found = (flipped.wrapping_sub(ONES * 0x21) & !flipped) | (backslash.wrapping_sub(ONES) & !backslash);
    found & HIGH
}

#[cfg(test)]
mod tests {
    use super::plain_length;

    #[test]
    fn it_finds_the_first_special_byte() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for length in (0..170).chain(280..285).chain(600..602) {
                for at in 0..length {
                    for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                        let mut bytes = vec![filler; length];
                        bytes[at] = special;
                        assert_eq!(plain_length(&bytes), at);
                        if let Some(last) = bytes.last_mut() {
                            *last = special;
                        }
                        assert_eq!(plain_length(&bytes), at);
                    }
                }
                assert_eq!(plain_length(&vec![b'a'; length]), length);
            }
        }
    }
}
