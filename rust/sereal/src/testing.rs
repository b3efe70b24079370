//! What the tests of this crate share.

pub mod fixtures;
pub mod outline;
pub mod promises;
pub mod random;

use crate::{Error, Item, Reader};

/// The bytes that hexadecimal digits say; white space is for who reads.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> =
        hex.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).expect("a digit")).collect();
    assert_eq!(digits.len() % 2, 0, "half a byte: {hex}");
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// The document that has this body.
pub fn document(body: &str) -> Vec<u8> {
    [crate::header::WRITTEN.to_vec(), bytes(body)].concat()
}

/// All items of a document, and why there are no more.
pub fn read(document: &[u8]) -> (Vec<Item>, Option<Error>) {
    let (mut reader, mut items, mut item) = (Reader::new(), Vec::new(), Item::default());
    if let Err(error) = reader.begin(document) {
        return (items, Some(error));
    }
    loop {
        match reader.next(document, &mut item) {
            Ok(true) => items.push(item),
            Ok(false) => return (items, None),
            Err(error) => return (items, Some(error)),
        }
    }
}
