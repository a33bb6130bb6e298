use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Method of confining paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ResolveMethod {
    /// By the kernel, in one step.
    Kernel,
    /// Component by component, on kernels without support.
    Walk,
}

/// Whether other disks that are mounted on the way down are walked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mounts {
    Refused,
    Crossed,
}

/// Opens what is at the end of a path, without links, and without other disks if those are refused.
pub(super) fn descend(
    from: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    way: ResolveMethod,
    mounts: Mounts,
) -> Result<OwnedFd, Errno> {
    match way {
        #[cfg(target_os = "linux")]
        ResolveMethod::Kernel => {
            use rustix::fs::ResolveFlags;
            let usual =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let resolve = match mounts {
                Mounts::Refused => usual | ResolveFlags::NO_XDEV,
                Mounts::Crossed => usual,
            };
            match fs::openat2(from, path, flags, Mode::empty(), resolve) {
                // A concurrent rename: the kernel asks for a retry.
                Err(Errno::AGAIN) => walk(from, path, flags, mounts),
                opened => opened,
            }
        }
        #[cfg(not(target_os = "linux"))]
        ResolveMethod::Kernel => walk(from, path, flags, mounts),
        ResolveMethod::Walk => walk(from, path, flags, mounts),
    }
}

pub(super) fn is_unknown(cause: &io::Error) -> bool {
    let code = cause.raw_os_error();
    [Errno::NOSYS, Errno::PERM].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// The same, part by part.
fn walk(
    from: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mounts: Mounts,
) -> Result<OwnedFd, Errno> {
    let disk = fs::fstat(from)?.st_dev;
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = fs::openat(from, ".", folder_flags, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => continue,
            _ => return Err(Errno::XDEV),
        };
        let flags = if parts.peek().is_some() { folder_flags } else { flags };
        here = match fs::openat(&here, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            // A link that should be a folder is "no folder" to the system.
            Err(Errno::NOTDIR) if is_link(here.as_fd(), name) => return Err(Errno::LOOP),
            Err(Errno::MLINK) => return Err(Errno::LOOP),
            opened => opened?,
        };
        if mounts == Mounts::Refused && fs::fstat(&here)?.st_dev != disk {
            return Err(Errno::XDEV);
        }
    }
    Ok(here)
}

fn is_link(folder: BorrowedFd<'_>, name: &std::ffi::OsStr) -> bool {
    let stat = fs::statat(folder, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}
