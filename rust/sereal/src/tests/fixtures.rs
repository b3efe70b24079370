//! Documents as others write them.

use crate::testing::fixtures::FIXTURES;
use crate::testing::outline::outline;
use crate::testing::{bytes, promises};
use crate::Reader;

#[test]
fn real_documents_say_what_they_say() {
    for fixture in FIXTURES {
        assert_eq!(outline(&fixture.document()), fixture.outline, "{}", fixture.what);
    }
}

#[test]
fn one_reader_reads_them_all_in_turn() {
    let mut reader = Reader::new();
    for fixture in FIXTURES.iter().chain(FIXTURES.iter().rev()) {
        let document = fixture.document();
        assert!(promises::hold(&mut reader, &document).is_ok(), "{}", fixture.what);
        // One that ends in the middle leaves nothing behind.
        let half = &document[..document.len() - 1];
        assert!(promises::hold(&mut reader, half).is_err(), "{}", fixture.what);
    }
}

#[test]
fn real_documents_that_are_not_supported_are_refused_by_name() {
    for (hex, refusal) in [
        (
            "3df3726c25 00 8b006608266478fe01008a0100",
            "byte 4: the body is compressed with snappy, which is not supported",
        ),
        ("3df3726c35 00 66 9800789cbdc0", "byte 4: the body is compressed with zlib, which is not supported"),
        ("3df3726c45 00 92 0028b52ffd20", "byte 4: the body is compressed with zstd, which is not supported"),
        ("3d73726c01 00 42 01 6161", "byte 0: a document of Sereal version 1 or 2, which is not supported"),
        ("3d73726c02 00 42 01 6161", "byte 0: a document of Sereal version 1 or 2, which is not supported"),
        ("3dc3b3726c05 00 39", "byte 0: a Sereal document that was encoded as UTF-8"),
        ("3df3726c05 00 42 3262467a 282b016178 3303 282b016178", "byte 7: an object frozen by a FREEZE callback"),
    ] {
        assert_eq!(outline(&bytes(hex)), refusal);
    }
}
