//! Numbers of variable length: seven bits a byte, the low ones first; all bytes but the last have their high bit set.

use crate::error::Reason;

/// Most bytes of a number.
pub(crate) const MOST: usize = 10;

/// Writes a number behind the first `at` bytes of a piece; how many of its bytes are written then. `at` is at most 6.
#[inline]
pub(crate) fn write(piece: &mut [u8; 16], at: usize, mut number: u64) -> usize {
    let mut end = at;
    while number >= 0x80 {
        piece[end & 15] = number as u8 | 0x80;
        number >>= 7;
        end += 1;
    }
    piece[end & 15] = number as u8;
    end + 1
}

/// Reads the number that begins at `at`: it, and where it ends.
#[inline]
pub(crate) fn read(bytes: &[u8], at: usize) -> Result<(u64, usize), Reason> {
    match bytes.get(at) {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), at + 1)),
        Some(_) => read_long(bytes, at),
        None => Err(Reason::Ended),
    }
}

fn read_long(bytes: &[u8], at: usize) -> Result<(u64, usize), Reason> {
    let mut number = 0;
    for (index, &byte) in bytes.get(at..).unwrap_or_default().iter().take(MOST).enumerate() {
        // The tenth byte has room for one bit.
        if index == MOST - 1 && byte > 1 {
            return Err(Reason::Number);
        }
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Ok((number, at + index + 1));
        }
    }
    Err(Reason::Ended)
}

/// The number that ZIGZAG has for a signed one: small for those near 0.
#[inline]
pub(crate) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

/// The signed number of a ZIGZAG.
#[inline]
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
