use std::io;
use std::path::Path;

use ratchet_core::chat::workspace::BoundaryError;
use rustix::io::Errno;

use super::MAX_DEPTH;

/// Why a file inside a confined folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfinedPathError {
    /// The path itself leads out.
    #[error("{path}: {why}")]
    Path {
        path: String,
        /// What is wrong with it.
        why: BoundaryError,
    },
    /// There is a symbolic link on the way, perhaps only since a moment ago.
    #[error("{0}: a symbolic link is in the way, and those are not followed")]
    Link(String),
    /// Another disk is mounted on the way.
    #[error("{0}: another disk is mounted on the way there, and those are not entered")]
    Mount(String),
    /// A device, a socket or a pipe, or a folder where a file is meant.
    #[error("{0}: not a file")]
    NotAFile(String),
    #[error("{path}: more than {most} bytes")]
    TooLarge {
        path: String,
        /// How many there may be.
        most: usize,
    },
    /// More files than anyone keeps there.
    #[error("{path}: more than {most} files, or more than {MAX_DEPTH} folders deep")]
    TooMany {
        path: String,
        /// How many there may be.
        most: usize,
    },
    #[error("{path}: {cause}")]
    Io { path: String, cause: io::Error },
}

impl ConfinedPathError {
    pub(super) fn new(path: &Path, cause: Errno) -> Self {
        let path = path.display().to_string();
        match cause {
            Errno::LOOP => Self::Link(path),
            Errno::XDEV => Self::Mount(path),
            cause => Self::Io { path, cause: cause.into() },
        }
    }
}
