//! The header of a document: a magic, a byte of version and encoding, and a suffix that is passed over.

use crate::cursor::Cursor;
use crate::error::{Reason, Stop};

/// What is written: version 5, a body that is not compressed, no suffix.
pub(crate) const WRITTEN: [u8; 6] = [0x3d, 0xf3, 0x72, 0x6c, 0x05, 0x00];

const MAGIC: [u8; 4] = [0x3d, 0xf3, 0x72, 0x6c];
const MAGIC_OF_1_AND_2: [u8; 4] = *b"=srl";
/// The magic after somebody took its bytes for characters and encoded these.
const MAGIC_AS_UTF8: [u8; 4] = [0x3d, 0xc3, 0xb3, 0x72];

/// Checks the header; where the body begins.
pub(crate) fn read(document: &[u8]) -> Result<usize, Stop> {
    let mut cursor = Cursor::new(document, 0);
    match cursor.array() {
        Ok(MAGIC) => {}
        Ok(MAGIC_OF_1_AND_2) => return Err(Reason::OldMagic.at(0)),
        Ok(MAGIC_AS_UTF8) => return Err(Reason::MagicAsUtf8.at(0)),
        _ => return Err(Reason::Magic.at(0)),
    }
    let at = cursor.at;
    let byte = cursor.byte()?;
    let (version, encoding) = (byte & 0x0f, byte >> 4);
    if !(3..=5).contains(&version) {
        return Err(Reason::Version(version).at(at));
    }
    let compressor = match encoding {
        0 => None,
        1 | 2 => Some("snappy"),
        3 => Some("zlib"),
        4 => Some("zstd"),
        _ => return Err(Reason::Encoding(encoding).at(at)),
    };
    if let Some(compressor) = compressor {
        return Err(Reason::Compressed(compressor).at(at));
    }
    let at = cursor.at;
    let length = cursor.varint()?;
    let left = cursor.left();
    if length > left as u64 {
        return Err(Reason::LongHeader { length, left: left as u32 }.at(at));
    }
    Ok(cursor.at + length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    #[test]
    fn a_body_begins_behind_the_suffix() {
        for (hex, body) in [
            ("3df3726c05 00", 6),
            ("3df3726c05 00 39", 6),
            ("3df3726c04 00 39", 6),
            ("3df3726c03 00 39", 6),
            ("3df3726c05 03 010203 39", 9),
            // The suffix is passed over, whatever it holds.
            ("3df3726c05 01 ff", 7),
            ("3df3726c05 8100 ff 39", 8),
        ] {
            assert_eq!(read(&bytes(hex)), Ok(body), "{hex}");
        }
        assert_eq!(read(&WRITTEN), Ok(WRITTEN.len()));
    }

    #[test]
    fn what_is_no_header_is_refused_by_name() {
        for (hex, at, reason) in [
            ("", 0, Reason::Magic),
            ("3df372", 0, Reason::Magic),
            ("3df3726d05 00 39", 0, Reason::Magic),
            ("00f3726c05 00 39", 0, Reason::Magic),
            ("3d73726c02 00 39", 0, Reason::OldMagic),
            ("3dc3b3726c05 00 39", 0, Reason::MagicAsUtf8),
            ("3df3726c", 4, Reason::Ended),
            ("3df3726c00 00 39", 4, Reason::Version(0)),
            ("3df3726c01 00 39", 4, Reason::Version(1)),
            ("3df3726c02 00 39", 4, Reason::Version(2)),
            ("3df3726c06 00 39", 4, Reason::Version(6)),
            ("3df3726c0f 00 39", 4, Reason::Version(15)),
            ("3df3726c15 00 39", 4, Reason::Compressed("snappy")),
            ("3df3726c25 00 39", 4, Reason::Compressed("snappy")),
            ("3df3726c33 00 39", 4, Reason::Compressed("zlib")),
            ("3df3726c44 00 39", 4, Reason::Compressed("zstd")),
            ("3df3726c55 00 39", 4, Reason::Encoding(5)),
            ("3df3726cf5 00 39", 4, Reason::Encoding(15)),
            ("3df3726c05", 5, Reason::Ended),
            ("3df3726c05 80", 5, Reason::Ended),
            ("3df3726c05 ffffffffffffffffff02", 5, Reason::Number),
            ("3df3726c05 02 39", 5, Reason::LongHeader { length: 2, left: 1 }),
            ("3df3726c05 ffffffffffffffffff01 39", 5, Reason::LongHeader { length: u64::MAX, left: 1 }),
        ] {
            assert_eq!(read(&bytes(hex)), Err(reason.at(at)), "{hex}");
        }
    }
}
