//! `NextToken`: the position at which a SELECT continues, bound to its statement and opaque to clients.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::chance::StableHash;
use crate::error::ApiError;
use crate::key::{Key, KeyBytes};
use crate::limits;

/// Distinguishes tokens from those of later versions.
const VERSION: u8 = 1;
const SEED: u64 = 0x6e65_7874_746f_6b65;

/// The position at which a SELECT continues: after a key of one of its ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextToken {
    /// The position of the range among those of the statement.
    pub range: usize,
    /// The last key that was read.
    pub key: Key,
}

impl NextToken {
    /// The token for the statement of this fingerprint.
    pub fn encode(&self, statement: u64) -> String {
        let mut bytes = Vec::with_capacity(self.key.bytes.len() + 29);
        bytes.push(VERSION);
        bytes.extend_from_slice(&statement.to_be_bytes());
        bytes.extend_from_slice(&(self.range as u32).to_be_bytes());
        bytes.extend_from_slice(&self.key.token.to_be_bytes());
        bytes.extend_from_slice(&self.key.bytes);
        bytes.extend_from_slice(&seal(&bytes));
        STANDARD.encode(bytes)
    }

    /// Decodes a token, which must belong to the statement with this fingerprint.
    pub fn decode(text: &str, statement: u64) -> Result<NextToken, ApiError> {
        let (given, token) = NextToken::read(text).ok_or_else(ApiError::next_token_invalid)?;
        if given != statement {
            return Err(ApiError::next_token_foreign());
        }
        Ok(token)
    }

    fn read(text: &str) -> Option<(u64, NextToken)> {
        if text.len() > limits::NEXT_TOKEN_LENGTH {
            return None;
        }
        let bytes = STANDARD.decode(text).ok()?;
        let (body, sealed) = bytes.split_last_chunk::<8>()?;
        if seal(body) != *sealed {
            return None;
        }
        let (version, rest) = body.split_first()?;
        let (statement, rest) = rest.split_first_chunk::<8>()?;
        let (range, rest) = rest.split_first_chunk::<4>()?;
        let (token, key) = rest.split_first_chunk::<8>()?;
        let token = NextToken {
            range: u32::from_be_bytes(*range) as usize,
            key: Key {
                token: u64::from_be_bytes(*token),
                bytes: KeyBytes::from_slice(key),
            },
        };
        (*version == VERSION).then_some((u64::from_be_bytes(*statement), token))
    }
}

fn seal(bytes: &[u8]) -> [u8; 8] {
    StableHash::new(SEED).bytes(bytes).finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(range: usize, length: usize) -> NextToken {
        let bytes = KeyBytes::from_slice(&vec![b'k'; length]);
        NextToken {
            range,
            key: Key { token: 7, bytes },
        }
    }

    #[test]
    fn a_token_has_its_range_and_key() {
        for (range, length) in [(0, 0), (1, 1), (49, 3072)] {
            let token = token(range, length);
            assert_eq!(NextToken::decode(&token.encode(99), 99), Ok(token));
        }
    }

    #[test]
    fn a_token_of_another_statement_or_with_a_changed_byte_is_refused() {
        let text = token(2, 9).encode(99);
        assert_eq!(NextToken::decode(&text, 98), Err(ApiError::next_token_foreign()));
        let bytes = STANDARD.decode(&text).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let read = NextToken::decode(&STANDARD.encode(changed), 99);
            assert_eq!(read, Err(ApiError::next_token_invalid()), "byte {at}");
        }
        for at in 0..bytes.len() {
            let read = NextToken::decode(&STANDARD.encode(&bytes[..at]), 99);
            assert_eq!(read, Err(ApiError::next_token_invalid()), "{at} bytes");
        }
    }

    #[test]
    fn a_token_of_another_version_is_refused() {
        for (version, expect) in [(0, false), (VERSION, true), (VERSION + 1, false)] {
            let mut bytes = STANDARD.decode(token(2, 9).encode(99)).unwrap();
            bytes.truncate(bytes.len() - 8);
            bytes[0] = version;
            let sealed = seal(&bytes);
            bytes.extend_from_slice(&sealed);
            let read = NextToken::decode(&STANDARD.encode(bytes), 99);
            let expect = if expect {
                Ok(token(2, 9))
            } else {
                Err(ApiError::next_token_invalid())
            };
            assert_eq!(read, expect, "version {version}");
        }
    }

    #[test]
    fn a_token_has_a_maximum_length() {
        // Four characters are three bytes, and 29 bytes are not of the key.
        let longest = limits::NEXT_TOKEN_LENGTH / 4 * 3 - 29;
        let text = token(0, longest).encode(99);
        assert_eq!(text.len(), limits::NEXT_TOKEN_LENGTH);
        assert!(NextToken::decode(&text, 99).is_ok());
        let text = token(0, longest + 1).encode(99);
        assert_eq!(NextToken::decode(&text, 99), Err(ApiError::next_token_invalid()));
    }
}
