//! MD5, which determines the order of a Scan, and CRC-32, the checksum of answers, gzip members and snapshots. Neither
//! is used for security.

/// The initial state of a digest (RFC 1321).
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

const BLOCK: usize = 64;

/// The first 64 bits, as a big-endian number, of the MD5 of `prefix` and then `bytes`.
pub fn md5_start(prefix: [u8; 8], bytes: &[u8]) -> u64 {
    let bits = (prefix.len() + bytes.len()) as u64 * 8;
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(&prefix);
    let mut used = prefix.len();
    let mut state = START;
    let mut rest = bytes;
    // Short keys, which nearly all are, fit one block together with what ends them.
    while used + rest.len() >= BLOCK {
        let (filling, after) = rest.split_at(BLOCK - used);
        block[used..].copy_from_slice(filling);
        state = compress(state, &block);
        block = [0; BLOCK];
        (rest, used) = (after, 0);
    }
    block[used..used + rest.len()].copy_from_slice(rest);
    used += rest.len();
    block[used] = 0x80;
    if used >= BLOCK - 8 {
        state = compress(state, &block);
        block = [0; BLOCK];
    }
    block[BLOCK - 8..].copy_from_slice(&bits.to_le_bytes());
    let [first, second, ..] = compress(state, &block);
    u64::from(first.swap_bytes()) << 32 | u64::from(second.swap_bytes())
}

/// Takes one block in. The steps are written out, so that no index or shift is left to be computed.
fn compress(start: [u32; 4], block: &[u8; BLOCK]) -> [u32; 4] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d] = start;
    // Steps of one round: the position of each word, its rotation, and its constant.
    macro_rules! steps {
        ($mix:expr; $($at:literal $shift:literal $constant:literal,)*) => {$(
            let sum = a.wrapping_add($mix(b, c, d)).wrapping_add(words[$at]).wrapping_add($constant);
            (a, b, c, d) = (d, b.wrapping_add(sum.rotate_left($shift)), b, c);
        )*};
    }
    steps!(|b: u32, c: u32, d: u32| d ^ (b & (c ^ d));
        0 7 0xd76a_a478, 1 12 0xe8c7_b756, 2 17 0x2420_70db, 3 22 0xc1bd_ceee,
        4 7 0xf57c_0faf, 5 12 0x4787_c62a, 6 17 0xa830_4613, 7 22 0xfd46_9501,
        8 7 0x6980_98d8, 9 12 0x8b44_f7af, 10 17 0xffff_5bb1, 11 22 0x895c_d7be,
        12 7 0x6b90_1122, 13 12 0xfd98_7193, 14 17 0xa679_438e, 15 22 0x49b4_0821,
    );
    steps!(|b: u32, c: u32, d: u32| c ^ (d & (b ^ c));
        1 5 0xf61e_2562, 6 9 0xc040_b340, 11 14 0x265e_5a51, 0 20 0xe9b6_c7aa,
        5 5 0xd62f_105d, 10 9 0x0244_1453, 15 14 0xd8a1_e681, 4 20 0xe7d3_fbc8,
        9 5 0x21e1_cde6, 14 9 0xc337_07d6, 3 14 0xf4d5_0d87, 8 20 0x455a_14ed,
        13 5 0xa9e3_e905, 2 9 0xfcef_a3f8, 7 14 0x676f_02d9, 12 20 0x8d2a_4c8a,
    );
    steps!(|b: u32, c: u32, d: u32| b ^ c ^ d;
        5 4 0xfffa_3942, 8 11 0x8771_f681, 11 16 0x6d9d_6122, 14 23 0xfde5_380c,
        1 4 0xa4be_ea44, 4 11 0x4bde_cfa9, 7 16 0xf6bb_4b60, 10 23 0xbebf_bc70,
        13 4 0x289b_7ec6, 0 11 0xeaa1_27fa, 3 16 0xd4ef_3085, 6 23 0x0488_1d05,
        9 4 0xd9d4_d039, 12 11 0xe6db_99e5, 15 16 0x1fa2_7cf8, 2 23 0xc4ac_5665,
    );
    steps!(|b: u32, c: u32, d: u32| c ^ (b | !d);
        0 6 0xf429_2244, 7 10 0x432a_ff97, 14 15 0xab94_23a7, 5 21 0xfc93_a039,
        12 6 0x655b_59c3, 3 10 0x8f0c_cc92, 10 15 0xffef_f47d, 1 21 0x8584_5dd1,
        8 6 0x6fa8_7e4f, 15 10 0xfe2c_e6e0, 6 15 0xa301_4314, 13 21 0x4e08_11a1,
        4 6 0xf753_7e82, 11 10 0xbd3a_f235, 2 15 0x2ad7_d2bb, 9 21 0xeb86_d391,
    );
    [
        start[0].wrapping_add(a),
        start[1].wrapping_add(b),
        start[2].wrapping_add(c),
        start[3].wrapping_add(d),
    ]
}

/// The CRC-32 of `bytes`, as gzip has it.
pub fn crc32(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "wasm32")]
    return small::crc32(bytes);
    #[cfg(not(target_arch = "wasm32"))]
    crc32fast::hash(bytes)
}

/// CRC-32 from tables that are made when they are first needed. Those of `crc32fast` take 16 KB of a wasm module, even compressed.
#[cfg(any(test, target_arch = "wasm32"))]
mod small {
    use crate::sync::Once;

    /// By how many bytes follow in a chunk, and by the byte.
    type Crc32Tables = [[u32; 256]; 8];

    static TABLES: Once<Box<Crc32Tables>> = Once::new();

    fn tables() -> Box<Crc32Tables> {
        let mut tables = Box::new([[0; 256]; 8]);
        for byte in 0..256 {
            let shifted = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
            tables[0][byte] = (0..8).fold(byte as u32, shifted);
        }
        for following in 1..8 {
            for byte in 0..256 {
                let before = tables[following - 1][byte];
                tables[following][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            }
        }
        tables
    }

    pub fn crc32(bytes: &[u8]) -> u32 {
        let tables = TABLES.get_or_init(tables);
        let (chunks, rest) = bytes.as_chunks::<8>();
        let mut crc = u32::MAX;
        for chunk in chunks {
            let word = u64::from_le_bytes(*chunk) ^ u64::from(crc);
            crc = (0..8).fold(0, |crc, at| crc ^ tables[7 - at][(word >> (at * 8) & 0xff) as usize]);
        }
        for byte in rest {
            crc = (crc >> 8) ^ tables[0][((crc ^ u32::from(*byte)) & 0xff) as usize];
        }
        !crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests() {
        // As `md5sum` prints them: bytes of each length around the ends of blocks, after eight zeros.
        for (length, expect) in [
            (0, 0x7dea_362b_3fac_8e00),
            (1, 0x3f28_29b2_ffe8_434d),
            (7, 0x0eeb_ee79_eed0_49bc),
            (46, 0x9563_dad1_9400_27bd),
            (47, 0xf739_90da_fb10_a253),
            (48, 0xf2a6_3723_d6f2_0154),
            (55, 0x9fc9_5046_2daf_5e59),
            (56, 0x2e63_04e5_9f58_1f11),
            (57, 0x0927_a519_bf19_0c07),
            (63, 0x9a41_fcaf_dd14_59b6),
            (64, 0xb676_a930_ade2_fbaf),
            (110, 0x9b54_2034_8647_5447),
            (111, 0x0153_35fc_77d3_8025),
            (112, 0x4296_db6c_4596_5055),
            (119, 0x6552_51a1_1708_2ce3),
            (120, 0x7f11_0ba2_a1c4_5574),
            (1024, 0x28fb_db25_f9bf_5f68),
            (2048, 0xcf15_dc53_f978_01d2),
        ] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            assert_eq!(md5_start([0; 8], &bytes), expect, "{length}");
        }
    }

    #[test]
    fn the_prefix_is_part_of_the_digest() {
        // The digest of "abcdefghijklmnopqrstuvwxyz" is c3fcd3d76192e4007dfb496cca67e13b.
        assert_eq!(md5_start(*b"abcdefgh", b"ijklmnopqrstuvwxyz"), 0xc3fc_d3d7_6192_e400);
    }

    proptest::proptest! {
        #[test]
        fn both_checksums_are_equal(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100)) {
            proptest::prop_assert_eq!(small::crc32(&bytes), crc32(&bytes));
        }
    }
}
