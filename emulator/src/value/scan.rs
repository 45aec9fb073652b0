//! Where a JSON string stops being plain: the scan that reader and writer share.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes stand before the first quote, backslash or control character, or before the end.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    // Most names and many texts end within the first eight bytes.
    match bytes.split_first_chunk::<8>() {
        Some((chunk, rest)) => match specials(u64::from_le_bytes(*chunk)) {
            0 => 8 + plain_length_of_long(rest),
            special => (special.trailing_zeros() / 8) as usize,
        },
        None => plain_length_of_rest(bytes),
    }
}

/// Words that are looked at one by one before larger steps are worth their start.
const WORDS: usize = 3;
/// Bytes of a larger step.
const BLOCK: usize = 64;

fn plain_length_of_long(bytes: &[u8]) -> usize {
    plain_length_of_words(bytes, WORDS).unwrap_or_else(|| {
        let start = 8 * WORDS;
        let blocks = start + BLOCK * plain_blocks(&bytes[start..]);
        blocks + plain_length_of_words(&bytes[blocks..], usize::MAX).unwrap_or(0)
    })
}

/// The plain length, looked for word by word; `None` if so many words are plain.
#[inline]
fn plain_length_of_words(bytes: &[u8], words: usize) -> Option<usize> {
    let mut rest = bytes;
    for _ in 0..words {
        let before = bytes.len() - rest.len();
        let Some((chunk, after)) = rest.split_first_chunk::<8>() else {
            return Some(before + plain_length_of_rest(rest));
        };
        let special = specials(u64::from_le_bytes(*chunk));
        if special != 0 {
            return Some(before + (special.trailing_zeros() / 8) as usize);
        }
        rest = after;
    }
    None
}

/// How many blocks stand before the first that has something special.
fn plain_blocks(bytes: &[u8]) -> usize {
    bytes
        .as_chunks::<BLOCK>()
        .0
        .iter()
        .take_while(|block| is_plain(block))
        .count()
}

/// Whether nothing in a block is special: the compiler makes vector instructions of it.
#[allow(clippy::needless_bitwise_bool)] // lazy operators would branch at each byte
fn is_plain(block: &[u8; BLOCK]) -> bool {
    !block.iter().fold(false, |special, byte| {
        special | (*byte == b'"') | (*byte == b'\\') | (*byte < 0x20)
    })
}

fn plain_length_of_rest(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| *byte == b'"' || *byte == b'\\' || *byte < 0x20)
        .unwrap_or(bytes.len())
}

/// The high bit of each byte that is special. A borrow can mark plain bytes above a special one, never below the first.
pub(super) const fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    found & HIGH
}

#[cfg(test)]
mod tests {
    use super::plain_length;

    #[test]
    fn it_finds_the_first_special_byte() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for length in 0..170 {
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
