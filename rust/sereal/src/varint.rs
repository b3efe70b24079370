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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    fn written(number: u64) -> Vec<u8> {
        let mut piece = [0xaa; 16];
        let end = write(&mut piece, 2, number);
        assert_eq!(piece[..2], [0xaa, 0xaa]);
        piece[2..end].to_vec()
    }

    #[test]
    fn numbers_take_a_byte_for_seven_bits() {
        for (number, hex) in [
            (0, "00"),
            (1, "01"),
            (0x7f, "7f"),
            (0x80, "8001"),
            (300, "ac02"),
            (0x3fff, "ff7f"),
            (0x4000, "808001"),
            (u64::from(u32::MAX), "ffffffff0f"),
            (i64::MAX as u64, "ffffffffffffffff7f"),
            (u64::MAX, "ffffffffffffffffff01"),
        ] {
            assert_eq!(written(number), bytes(hex), "{number}");
        }
    }

    #[test]
    fn every_length_is_read_from_anywhere() {
        for bits in 0..64 {
            for number in [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                let mut text = b"..".to_vec();
                text.extend(written(number));
                let end = text.len();
                text.extend(b"\xff\xff");
                assert_eq!(read(&text, 2), Ok((number, end)), "{number}");
            }
        }
    }

    #[test]
    fn a_number_may_be_longer_than_it_need_be() {
        assert_eq!(read(&bytes("8000"), 0), Ok((0, 2)));
        assert_eq!(read(&bytes("80808080808080808000"), 0), Ok((0, 10)));
        assert_eq!(read(&bytes("ff808080808080808001"), 0), Ok((1 << 63 | 0x7f, 10)));
    }

    #[test]
    fn no_number_has_more_than_64_bits() {
        for hex in ["ffffffffffffffffff02", "ffffffffffffffffff7f", "80808080808080808080", "8080808080808080808000"] {
            assert_eq!(read(&bytes(hex), 0), Err(Reason::Number), "{hex}");
        }
    }

    #[test]
    fn a_number_that_ends_too_soon_is_none() {
        let whole = bytes("ffffffffffffffffff01");
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length], 0), Err(Reason::Ended), "{length}");
        }
        assert_eq!(read(&whole, whole.len()), Err(Reason::Ended));
        assert_eq!(read(&whole, usize::MAX), Err(Reason::Ended));
    }

    #[test]
    fn signs_are_in_the_lowest_bit() {
        for (signed, number) in
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (-300, 599), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)]
        {
            assert_eq!(zigzag(signed), number);
            assert_eq!(unzigzag(number), signed);
        }
    }
}
