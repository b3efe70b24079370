//! Memory without a name, for a process and the children it forks.

use super::{reserve, Mapping};
use crate::error::{Error, Result};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// A sealed memfd: nobody who finds it under /proc can shrink it beneath our feet.
pub(crate) fn anonymous(length: usize) -> Result<Mapping> {
    const WHAT: &str = "an anonymous arena";
    const NAME: &[u8] = b"shared-arena\0";
    let make = |flags| {
        // SAFETY: the name is a NUL-terminated constant.
        unsafe { libc::memfd_create(NAME.as_ptr().cast(), libc::MFD_CLOEXEC | flags) }
    };
    // Some systems only give memory that can never be made executable; kernels before 6.3 do not know the word.
    let descriptor = match make(libc::MFD_NOEXEC_SEAL) {
        refused if refused < 0 => make(libc::MFD_ALLOW_SEALING),
        descriptor => descriptor,
    };
    if descriptor < 0 {
        return Err(Error::system("cannot create an anonymous arena"));
    }
    // SAFETY: memfd_create just gave us this descriptor, and nobody else has it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    reserve(&file, length as u64, WHAT)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: plain integers and an open descriptor.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(Error::system("cannot seal an anonymous arena"));
    }
    Mapping::of_file(&file, length, WHAT)
}
