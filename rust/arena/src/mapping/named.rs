//! Named arenas: files in a memory file system that other processes of the same user find by name.
//!
//! A file is made complete under no name (`O_TMPFILE`), and only then linked to its name: nobody ever sees a
//! half-made arena, and a creator that dies leaves nothing. Where the file system lacks `O_TMPFILE`, the file is
//! made under a temporary name that no arena can have, kept locked while its maker lives, and swept by the next
//! creator if it died.

use super::{reserve, Mapping};
use crate::error::{shown, Error, Result};
use crate::layout::MAX_ARENA_NAME;
use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that moves named arenas to another directory.
const DIRECTORY_VARIABLE: &str = "SHARED_ARENA_DIR";
const DIRECTORY: &str = "/dev/shm";
const TEMPORARY_PREFIX: &str = ".shared-arena-unfinished.";

/// The path of a named arena, under the caller's effective user id.
pub(crate) struct NamedPath {
    directory: PathBuf,
    path: PathBuf,
    user: u32,
}

/// How [`NamedPath::create`] ended.
pub(crate) enum Made {
    /// The name is ours.
    Created(Mapping),
    /// Somebody else has the name.
    Exists,
}

impl NamedPath {
    pub(crate) fn new(name: &[u8]) -> Result<NamedPath> {
        let directory = std::env::var_os(DIRECTORY_VARIABLE).filter(|value| !value.is_empty());
        NamedPath::in_directory(directory.unwrap_or_else(|| OsString::from(DIRECTORY)).into(), name)
    }

    fn in_directory(directory: PathBuf, name: &[u8]) -> Result<NamedPath> {
        let shown = shown(name);
        if name.is_empty() || name.len() > MAX_ARENA_NAME {
            return Err(Error::Invalid(format!(
                "an arena's name has 1 to {MAX_ARENA_NAME} bytes, and {shown} has {}",
                name.len()
            )));
        }
        if name.contains(&b'/') || name.contains(&0) {
            return Err(Error::Invalid(format!("an arena's name has no '/' and no NUL, unlike {shown}")));
        }
        // SAFETY: geteuid cannot fail and touches no memory.
        let user = unsafe { libc::geteuid() };
        let mut file_name = format!("shared-arena.{user}.").into_bytes();
        file_name.extend_from_slice(name);
        let path = directory.join(OsString::from_vec(file_name));
        Ok(NamedPath { directory, path, user })
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens what has the name, or None. Refuses everything that is not a private, regular file of this user, and one that
    /// has another name too: whoever made that may be somebody else.
    pub(crate) fn open(&self) -> Result<Option<Mapping>> {
        let shown = self.shown();
        // Opened without blocking, for a FIFO would wait for its other end.
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                let what = match fs::symlink_metadata(&self.path) {
                    Ok(found) if !found.is_file() => return Err(not_regular(&shown, &found)),
                    Ok(found) if found.uid() != self.user => format!("cannot open {shown} of user {}", found.uid()),
                    _ => format!("cannot open {shown}"),
                };
                return Err(Error::System { doing: what, cause });
            }
        };
        let found = self.look_at(&file)?;
        if !found.is_file() {
            return Err(not_regular(&shown, &found));
        }
        if found.uid() != self.user {
            return Err(Error::Corrupt(format!("{shown} belongs to user {}, not to {}", found.uid(), self.user)));
        }
        if found.mode() & 0o022 != 0 {
            let mode = found.mode() & 0o7777;
            return Err(Error::Corrupt(format!("{shown} can be written by others (mode {mode:04o})")));
        }
        let names = self.count_names(&file)?;
        if names > 1 {
            return Err(Error::Corrupt(format!("{shown} has {names} names (hard links), and an arena has one")));
        }
        let length = found.len();
        let size_is = |how: &str| Err(Error::Corrupt(format!("{shown} is not an arena: {length} bytes are too {how}")));
        if length < crate::header::SMALLEST {
            return size_is("few");
        }
        if length > crate::header::LARGEST {
            return size_is("many");
        }
        let length =
            usize::try_from(length).map_err(|_| Error::Corrupt(format!("{shown} is too large for this machine")))?;
        Mapping::of_file(&file, length, &shown).map(Some)
    }

    fn look_at(&self, file: &File) -> Result<fs::Metadata> {
        file.metadata().map_err(|cause| Error::System { doing: format!("cannot look at {}", self.shown()), cause })
    }

    /// How many names the file has. One that was made under a temporary name has that too until its maker removes it,
    /// which is waited for.
    fn count_names(&self, file: &File) -> Result<u64> {
        for _ in 0..500 {
            let found = self.look_at(file)?;
            if found.nlink() < 2 {
                return Ok(found.nlink());
            }
            self.sweep();
            let is_unfinished = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|other| other.ino() == found.ino());
            if !self.temporary_files().any(|entry| is_unfinished(&entry)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Once more: the maker may have been done before we looked for its temporary name.
        Ok(self.look_at(file)?.nlink())
    }

    /// Makes a complete arena and gives it its name, unless somebody was first. `fill` writes the header.
    pub(crate) fn create(&self, length: usize, fill: impl Fn(&Mapping)) -> Result<Made> {
        let nameless = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC)
            .open(&self.directory);
        match nameless {
            Ok(file) => {
                let mapping = self.complete(&file, length, fill)?;
                self.link_nameless(&file).map(|first| if first { Made::Created(mapping) } else { Made::Exists })
            }
            // A kernel or file system without O_TMPFILE says one of these; everything else is a refusal.
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) => {
                self.create_by_temporary_name(length, fill)
            }
            Err(cause) => {
                let doing = format!("cannot create an arena in {}", self.directory.display());
                Err(Error::System { doing, cause })
            }
        }
    }

    fn complete(&self, file: &File, length: usize, fill: impl Fn(&Mapping)) -> Result<Mapping> {
        let shown = self.shown();
        // The umask must neither narrow the mode nor decide it.
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .map_err(|cause| Error::System { doing: format!("cannot set the mode of {shown}"), cause })?;
        reserve(file, length as u64, &shown)?;
        let mapping = Mapping::of_file(file, length, &shown)?;
        fill(&mapping);
        Ok(mapping)
    }

    /// True when the name became ours, false when somebody has it.
    fn link_nameless(&self, file: &File) -> Result<bool> {
        let target = c_string(&self.path)?;
        let own = c_string(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        // SAFETY: both paths are NUL-terminated strings that outlive the call.
        let code = unsafe {
            libc::linkat(libc::AT_FDCWD, own.as_ptr(), libc::AT_FDCWD, target.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        };
        if code == 0 {
            return Ok(true);
        }
        let cause = io::Error::last_os_error();
        if cause.kind() == io::ErrorKind::AlreadyExists {
            return Ok(false);
        }
        // Without /proc the kernel takes the descriptor itself, from a caller it trusts.
        let empty: &[u8] = b"\0";
        // SAFETY: as above; the first path is empty.
        let code = unsafe {
            libc::linkat(file.as_raw_fd(), empty.as_ptr().cast(), libc::AT_FDCWD, target.as_ptr(), libc::AT_EMPTY_PATH)
        };
        match (code, io::Error::last_os_error().kind()) {
            (0, _) => Ok(true),
            (_, io::ErrorKind::AlreadyExists) => Ok(false),
            _ => Err(Error::System { doing: format!("cannot name {}", self.shown()), cause }),
        }
    }

    fn create_by_temporary_name(&self, length: usize, fill: impl Fn(&Mapping)) -> Result<Made> {
        self.sweep();
        let (temporary, file) = self.temporary_file()?;
        let made = self.complete(&file, length, fill).and_then(|mapping| match fs::hard_link(&temporary, &self.path) {
            Ok(()) => Ok(Made::Created(mapping)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(Made::Exists),
            Err(cause) => Err(Error::System { doing: format!("cannot name {}", self.shown()), cause }),
        });
        // It was ours alone, and is unfinished business of nobody now.
        let _ = fs::remove_file(&temporary);
        made
    }

    /// A file of a new temporary name that we have locked, so that no sweep takes it for a dead maker's.
    fn temporary_file(&self) -> Result<(PathBuf, File)> {
        loop {
            let unique = crate::hash::draw_seeds()?[0];
            let path = self.directory.join(format!("{TEMPORARY_PREFIX}{}.{unique:016x}", self.user));
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .custom_flags(libc::O_CLOEXEC)
                .open(&path)
                .map_err(|cause| Error::System { doing: format!("cannot create {}", path.display()), cause })?;
            // A sweep may have come between the creation and the lock.
            let swept = !lock_file(&file) || file.metadata().map_or(true, |found| found.nlink() == 0);
            if !swept {
                return Ok((path, file));
            }
        }
    }

    /// What lies in the directory under temporary names of this user.
    fn temporary_files(&self) -> impl Iterator<Item = fs::DirEntry> {
        let prefix = format!("{TEMPORARY_PREFIX}{}.", self.user);
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        entries.filter(move |entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()))
    }

    /// Removes what makers that died under a temporary name left behind: nobody holds its lock any more.
    fn sweep(&self) {
        for entry in self.temporary_files() {
            let opened = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
                .open(entry.path());
            // The lock is held until the name is gone.
            if let Some(_file) = opened.ok().filter(lock_file) {
                // Gone already is as good.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// A place in the queue of those who create in this directory, kept until dropped. None when the queue does not
    /// move for a while: anybody who can read the directory can stand in its way, so it must not matter much.
    pub(crate) fn queue(&self) -> Option<File> {
        let directory = File::open(&self.directory).ok()?;
        for _ in 0..2_500 {
            if lock_file(&directory) {
                return Some(directory);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// Removes the name; true when it was there. Whoever has the arena mapped keeps it.
    pub(crate) fn destroy(&self) -> Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(Error::System { doing: format!("cannot remove {}", self.shown()), cause }),
        }
    }

    /// For messages about what the file holds.
    pub(crate) fn describe(&self) -> String {
        self.shown()
    }
}

fn not_regular(shown: &str, found: &fs::Metadata) -> Error {
    let kind = match found.file_type() {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Error::Corrupt(format!("{shown} is not an arena: {kind}, not a regular file"))
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Invalid(format!("a path with a NUL byte: {}", path.display())))
}

/// Takes the advisory lock of a file if nobody has it; the kernel gives it back when the process ends.
fn lock_file(file: &File) -> bool {
    // SAFETY: plain integers and an open descriptor.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("shared-arena-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_temporary_name_serves_where_nameless_files_do_not_exist() {
        let directory = directory("fallback");
        let path = NamedPath::in_directory(directory.clone(), b"a").unwrap();
        // What a maker that died half-way left: its lock is free.
        let dead = directory.join(format!("{TEMPORARY_PREFIX}{}.dead", path.user));
        fs::write(&dead, b"half").unwrap();
        // And one whose maker is alive.
        let alive = directory.join(format!("{TEMPORARY_PREFIX}{}.alive", path.user));
        let maker = File::create(&alive).unwrap();
        assert!(lock_file(&maker));

        assert!(matches!(path.create_by_temporary_name(4096, |_| ()), Ok(Made::Created(_))));
        assert!(matches!(path.create_by_temporary_name(4096, |_| ()), Ok(Made::Exists)));
        assert!(!dead.exists() && alive.exists());
        assert_eq!(fs::metadata(&path.path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(names(&directory).len(), 2, "the arena and the living maker's file: {:?}", names(&directory));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn who_opens_what_is_just_being_named_waits_for_its_maker_and_cleans_up_after_a_dead_one() {
        let directory = directory("naming");
        let path = NamedPath::in_directory(directory.clone(), b"a").unwrap();
        assert!(matches!(path.create_by_temporary_name(4096, |_| ()), Ok(Made::Created(_))));
        // A maker that died with both names.
        let temporary = directory.join(format!("{TEMPORARY_PREFIX}{}.dead", path.user));
        fs::hard_link(&path.path, &temporary).unwrap();
        assert!(matches!(path.open(), Ok(Some(_))));
        assert!(!temporary.exists());
        // And one that lives.
        fs::hard_link(&path.path, &temporary).unwrap();
        let maker = File::open(&temporary).unwrap();
        assert!(lock_file(&maker));
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| path.open());
            std::thread::sleep(Duration::from_millis(20));
            fs::remove_file(&temporary).unwrap();
            assert!(matches!(opened.join().unwrap(), Ok(Some(_))));
        });
        // What nobody is making has one name.
        fs::hard_link(&path.path, directory.join("other")).unwrap();
        let Err(Error::Corrupt(reason)) = path.open() else { panic!("two names") };
        assert!(reason.ends_with("has 2 names (hard links), and an arena has one"), "{reason}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn sweeping_creators_leave_each_other_alone() {
        let directory = directory("sweeping");
        let failed: usize = std::thread::scope(|scope| {
            let creators: Vec<_> = (0..4)
                .map(|creator| {
                    let directory = directory.clone();
                    scope.spawn(move || {
                        let create = |round: &i32| {
                            let name = format!("{creator}-{round}");
                            let path = NamedPath::in_directory(directory.clone(), name.as_bytes()).unwrap();
                            let made = path.create_by_temporary_name(4096, |_| ());
                            path.destroy().unwrap();
                            !matches!(made, Ok(Made::Created(_)))
                        };
                        (0..300).filter(create).count()
                    })
                })
                .collect();
            creators.into_iter().map(|creator| creator.join().unwrap()).sum()
        });
        assert_eq!((failed, names(&directory).len()), (0, 0));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_creation_that_fails_leaves_no_file() {
        let directory = directory("failing");
        let path = NamedPath::in_directory(directory.clone(), b"huge").unwrap();
        assert!(path.create(1 << 60, |_| ()).is_err());
        assert!(path.create_by_temporary_name(1 << 60, |_| ()).is_err());
        assert!(names(&directory).is_empty());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in [&b""[..], b"a/b", b"a\0b", &[b'x'; 201]] {
            assert!(NamedPath::new(bad).is_err());
        }
        assert!(NamedPath::new(&[b'x'; 200]).is_ok());
    }
}
