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
