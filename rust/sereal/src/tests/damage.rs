//! Documents that somebody has damaged: refused, or read as what they then say. Never more than that.

use crate::testing::fixtures::FIXTURES;
use crate::testing::random::{cases, Random};
use crate::testing::{document, promises};
use crate::{header, tag, Reader};

#[test]
fn every_truncation_is_refused() {
    let mut reader = Reader::new();
    for fixture in FIXTURES {
        let whole = fixture.document();
        for length in 0..whole.len() {
            let outcome = promises::hold(&mut reader, &whole[..length]);
            assert!(outcome.is_err(), "{} of {} bytes: {}", length, whole.len(), fixture.what);
        }
    }
}

#[test]
fn every_byte_too_many_is_refused() {
    let mut reader = Reader::new();
    for fixture in FIXTURES {
        for more in 0..=255 {
            let mut longer = fixture.document();
            longer.push(more);
            assert!(promises::hold(&mut reader, &longer).is_err(), "{more:#x} behind {}", fixture.what);
        }
    }
}

#[test]
fn no_bit_that_flips_breaks_a_promise() {
    let mut reader = Reader::new();
    for fixture in FIXTURES {
        let mut damaged = fixture.document();
        for bit in 0..damaged.len() * 8 {
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = promises::hold(&mut reader, &damaged);
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn no_byte_in_the_place_of_another_breaks_a_promise() {
    let mut reader = Reader::new();
    for fixture in FIXTURES {
        let mut damaged = fixture.document();
        for index in 0..damaged.len() {
            let original = damaged[index];
            for byte in 0..=255 {
                damaged[index] = byte;
                let _ = promises::hold(&mut reader, &damaged);
            }
            damaged[index] = original;
        }
    }
}

#[test]
fn no_body_of_two_bytes_breaks_a_promise() {
    let mut reader = Reader::new();
    let mut small = document("00 00");
    let start = small.len() - 2;
    for pair in 0..=u16::MAX {
        small[start..].copy_from_slice(&pair.to_be_bytes());
        let _ = promises::hold(&mut reader, &small);
    }
}

/// A million: SHARED_ARENA_CASES=1000000 cargo test --release -p shared-arena-sereal damage
#[test]
fn no_random_change_breaks_a_promise() {
    let (mut reader, mut random) = (Reader::new(), Random::new(1));
    let documents: Vec<Vec<u8>> = FIXTURES.iter().map(|fixture| fixture.document()).collect();
    let (mut read, mut refused) = (0, 0);
    for _ in 0..cases() {
        let damaged = match random.below(3) {
            0 => babble(&mut random),
            _ => changed(&documents, &mut random),
        };
        match promises::hold(&mut reader, &damaged) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    // Were all refused at once, nothing would have been tried.
    assert!(read * 100 > refused, "{read} read, {refused} refused");
}

/// One of the documents after a few changes of its body, or of all of it.
fn changed(documents: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = documents[random.below(documents.len())].clone();
    let start = if random.below(8) == 0 { 0 } else { header::WRITTEN.len() };
    for _ in 0..=random.below(4) {
        let room = bytes.len().saturating_sub(start);
        if room == 0 {
            break;
        }
        let at = start + random.below(room);
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.byte(),
            2 => bytes[at] ^= tag::TRACKED,
            3 => bytes[at] = bytes[at].wrapping_add(random.of(&[1, 255])),
            4 => bytes.insert(at, telling_byte(random)),
            5 => drop(bytes.remove(at)),
            _ => {
                // A piece of another, or of the same, in between.
                let other = &documents[random.below(documents.len())];
                let first = random.below(other.len());
                let piece = other[first..first + random.below(other.len() - first)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// A body of tags and small numbers without sense.
fn babble(random: &mut Random) -> Vec<u8> {
    let mut bytes = header::WRITTEN.to_vec();
    for _ in 0..=random.below(24) {
        bytes.push(telling_byte(random));
    }
    bytes
}

/// A byte that may mean something: more often than by chance one of the tags of structure, or a small number.
fn telling_byte(random: &mut Random) -> u8 {
    let byte = match random.below(4) {
        0 => random.byte(),
        1 => random.below(12) as u8,
        2 => random.of(&[0x40, 0x41, 0x42, 0x50, 0x51, 0x60, 0x61, 0x62]),
        _ => random.of(&[0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30, 0x31, 0x3f]),
    };
    byte | if random.below(4) == 0 { tag::TRACKED } else { 0 }
}
