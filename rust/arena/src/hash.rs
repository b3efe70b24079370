//! The seeded hash that places every key.
//!
//! Each arena draws its own seeds when it is created, so nobody can choose keys that collide. ahash computes
//! differently across versions and processors; every build that maps an arena must agree, which a fingerprint
//! in the header proves.

use crate::error::{Error, Result};
use ahash::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;

/// The hash function of one arena.
#[derive(Clone)]
pub(crate) struct KeyHash(RandomState);

impl KeyHash {
    pub(crate) fn new(seeds: [u64; 4]) -> KeyHash {
        KeyHash(RandomState::with_seeds(seeds[0], seeds[1], seeds[2], seeds[3]))
    }

    /// 64 bits for a key; every bit is as good as another.
    #[inline(always)] // a call would cost as much as a short key
    pub(crate) fn of(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// What a build that computes the same hash finds too: one value over inputs of every length class.
    pub(crate) fn fingerprint(&self) -> u64 {
        const SAMPLE: &[u8; 96] =
            b"Shared-Arena hashes this line at many lengths and compares: 0123456789 abcdefghijklmnopqrstuvw\n\0";
        let mut hasher = self.0.build_hasher();
        for length in [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 96] {
            hasher.write_u64(self.of(&SAMPLE[..length]));
        }
        hasher.finish()
    }
}

/// Fresh seeds from the system.
pub(crate) fn draw_seeds() -> Result<[u64; 4]> {
    let mut bytes = [0u8; 32];
    // SAFETY: getrandom writes at most the length given into a buffer of that length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(|cause| Error::System { doing: "cannot draw random seeds".into(), cause })?;
    }
    let mut seeds = [0; 4];
    for (seed, chunk) in seeds.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        *seed = u64::from_ne_bytes(word);
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_decide_and_equal_seeds_agree() {
        let (one, same, other) = (KeyHash::new([1, 2, 3, 4]), KeyHash::new([1, 2, 3, 4]), KeyHash::new([1, 2, 3, 5]));
        assert_eq!(one.of(b"key"), same.of(b"key"));
        assert_ne!(one.of(b"key"), other.of(b"key"));
        assert_eq!(one.fingerprint(), same.fingerprint());
        assert_ne!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn keys_that_differ_in_length_alone_differ() {
        let hash = KeyHash::new([9, 8, 7, 6]);
        let zeros = [0u8; 64];
        let mut seen: Vec<u64> = (0..64).map(|length| hash.of(&zeros[..length])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 64);
    }

    #[test]
    fn drawn_seeds_are_not_repeated() {
        assert_ne!(draw_seeds().unwrap(), draw_seeds().unwrap());
    }
}
