/// Why a file inside a confined folder cannot be read or written.
mod error;
/// How a path is walked so that it leads nowhere else.
mod resolve;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use ratchet_core::chat::workspace::names_inside;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

pub use error::ConfinedPathError;
use resolve::{Mounts, ResolveMethod, descend, is_unknown};

/// How deep folders in folders are looked into.
const MAX_DEPTH: usize = 16;
/// How many tries a name for a file that is not whole yet gets.
const MAX_TRIES: u32 = 100;

/// A folder held by a handle. Every path is walked down from there anew, and nothing on the way
/// may be a symbolic link or another disk: so no path leads out, whatever someone does to it
/// meanwhile, and renaming the folder does not make it another one.
#[derive(Debug)]
pub struct ConfinedFolder {
    folder: OwnedFd,
    way: ResolveMethod,
}

impl ConfinedFolder {
    /// Opens a folder by its canonical path: a symbolic link on the way is refused.
    ///
    /// # Errors
    /// It is not there, no folder, or its path is not canonical.
    pub fn open(path: &Path) -> Result<Self, ConfinedPathError> {
        match Self::open_in(path, ResolveMethod::Kernel) {
            // An old kernel, or a container that forbids the call.
            Err(ConfinedPathError::Io { cause, .. }) if is_unknown(&cause) => {
                Self::open_in(path, ResolveMethod::Walk)
            }
            opened => opened,
        }
    }

    pub(super) fn open_in(path: &Path, way: ResolveMethod) -> Result<Self, ConfinedPathError> {
        let fail = |cause| ConfinedPathError::new(path, cause);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = fs::open("/", flags, Mode::empty()).map_err(fail)?;
        let inside = path.strip_prefix("/").unwrap_or(path);
        if inside.as_os_str().is_empty() {
            return Ok(Self { folder: top, way });
        }
        let folder = descend(top.as_fd(), inside, flags, way, Mounts::Crossed).map_err(fail)?;
        Ok(Self { folder, way })
    }

    /// Opens a folder further down.
    ///
    /// # Errors
    /// It is not there, no folder, or the way there leads over a link or another disk.
    pub fn folder(&self, path: &Path) -> Result<Self, ConfinedPathError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let folder =
            self.enter(path, flags).map_err(|cause| ConfinedPathError::new(path, cause))?;
        Ok(Self { folder, way: self.way })
    }

    /// Identity of the folder: device and inode.
    pub(super) fn identity(&self) -> Result<(u64, u64), ConfinedPathError> {
        let stat = fs::fstat(&self.folder)
            .map_err(|cause| ConfinedPathError::new(Path::new("."), cause))?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// Reads a file; `None` if there is none.
    ///
    /// # Errors
    /// The path leads out, it is no plain file, or it is longer than that.
    pub fn read(&self, path: &str, most: usize) -> Result<Option<Vec<u8>>, ConfinedPathError> {
        let inside = checked(path)?;
        // Non-blocking: opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match self.enter(inside, flags) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(Errno::NXIO | Errno::ISDIR) => {
                return Err(ConfinedPathError::NotAFile(path.to_owned()));
            }
            found => found.map_err(|cause| ConfinedPathError::new(inside, cause))?,
        };
        let stat = fs::fstat(&file).map_err(|cause| ConfinedPathError::new(inside, cause))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ConfinedPathError::NotAFile(path.to_owned()));
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let read = File::from(file).take(limit).read_to_end(&mut bytes);
        read.map_err(|cause| ConfinedPathError::Io { path: path.to_owned(), cause })?;
        if bytes.len() > most {
            return Err(ConfinedPathError::TooLarge { path: path.to_owned(), most });
        }
        Ok(Some(bytes))
    }

    /// Writes a file whole, with the folders it needs. What was there is replaced, a link as well.
    ///
    /// # Errors
    /// The path leads out, or the system refuses; then what was there is there still.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ConfinedPathError> {
        let inside = checked(path)?;
        let fail = |cause| ConfinedPathError::new(inside, cause);
        let (parent, name) = self.parent(inside, MakeFolders::Yes).map_err(fail)?;
        let (unfinished, file) = begin_file(parent.as_fd(), name).map_err(fail)?;
        let mut file = File::from(file);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| {
            fs::renameat(&parent, &unfinished, &parent, name).map_err(io::Error::from)
        });
        moved.map_err(|cause| {
            // What is left over is ours and of no use; that it stays would not make it worse.
            let _left_over = fs::unlinkat(&parent, &unfinished, AtFlags::empty());
            ConfinedPathError::Io { path: path.to_owned(), cause }
        })
    }

    /// Takes a file away, and the folders inside this one that are empty then.
    ///
    /// # Errors
    /// The path leads out, or the system refuses. A file that is not there is no error.
    pub fn remove(&self, path: &str) -> Result<(), ConfinedPathError> {
        let mut inside = checked(path)?;
        let fail = |cause| ConfinedPathError::new(Path::new(path), cause);
        let (parent, name) = match self.parent(inside, MakeFolders::No) {
            Err(Errno::NOENT) => return Ok(()),
            found => found.map_err(fail)?,
        };
        match fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(cause) => return Err(fail(cause)),
        }
        while let Some(folder) = inside.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let (parent, name) = self.parent(folder, MakeFolders::No).map_err(fail)?;
            if fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
            inside = folder;
        }
        Ok(())
    }

    /// Lists the plain files below a folder by their paths from there, in order. Links and what
    /// is no file are left out. A folder that is not there has none.
    ///
    /// # Errors
    /// There are more than that, or the way leads out.
    pub fn files(&self, path: &str, most: usize) -> Result<Vec<String>, ConfinedPathError> {
        let inside = checked(path)?;
        let top = match self.folder(inside) {
            Err(ConfinedPathError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            found => found?,
        };
        let too_many = || ConfinedPathError::TooMany { path: path.to_owned(), most };
        let mut files = Vec::new();
        let mut waiting = vec![(String::new(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(too_many());
            }
            for (name, kind) in top.entries(&folder)? {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                match kind {
                    FileType::Directory => waiting.push((path, depth + 1)),
                    FileType::RegularFile => files.push(path),
                    _ => {}
                }
                if files.len() > most || waiting.len() > most {
                    return Err(too_many());
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Lists the names in a folder that are symbolic links. A folder that is not there has none.
    ///
    /// # Errors
    /// The way leads out.
    pub fn links(&self, path: &str) -> Result<Vec<String>, ConfinedPathError> {
        let top = match self.folder(checked(path)?) {
            Err(ConfinedPathError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            found => found?,
        };
        let entries = top.entries("")?.into_iter();
        let links = entries.filter(|(_, kind)| *kind == FileType::Symlink);
        Ok(links.map(|(name, _)| name).collect())
    }

    /// The names in a folder, with what each is. Names that are not UTF-8 are left out.
    fn entries(&self, path: &str) -> Result<Vec<(String, FileType)>, ConfinedPathError> {
        let fail = |cause| ConfinedPathError::new(Path::new(path), cause);
        let folder = self.folder(Path::new(path))?.folder;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }

    fn enter(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        descend(self.folder.as_fd(), path, flags, self.way, Mounts::Refused)
    }

    /// The folder that a path ends in, and the name there.
    fn parent<'a>(
        &self,
        path: &'a Path,
        make: MakeFolders,
    ) -> Result<(OwnedFd, &'a std::ffi::OsStr), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let mut folder = self.enter(Path::new("."), flags)?;
        for part in path.parent().into_iter().flat_map(Path::components) {
            let part = Path::new(part.as_os_str());
            if make == MakeFolders::Yes {
                match fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(cause) => return Err(cause),
                }
            }
            folder = descend(folder.as_fd(), part, flags, self.way, Mounts::Refused)?;
        }
        Ok((folder, name))
    }
}

impl AsFd for ConfinedFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Whether folders on the way are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MakeFolders {
    Yes,
    No,
}

fn checked(path: &str) -> Result<&Path, ConfinedPathError> {
    let names = names_inside(path);
    names.map_err(|why| ConfinedPathError::Path { path: path.to_owned(), why })?;
    Ok(Path::new(path.strip_prefix("./").unwrap_or(path)))
}

/// Creates a temporary file next to the target, with a unique name.
fn begin_file(
    parent: BorrowedFd<'_>,
    name: &std::ffi::OsStr,
) -> Result<(std::ffi::OsString, OwnedFd), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for attempt in 0..MAX_TRIES {
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{attempt}.ratchet"));
        match fs::openat(parent, &unfinished, flags, Mode::from_raw_mode(0o644)) {
            Err(Errno::EXIST) => {}
            made => return made.map(|file| (unfinished, file)),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests;
