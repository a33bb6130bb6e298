//! A backup that comes as a stream: the server's tar file, unpacked while it arrives.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use ratchet_server::api::tar::{ArchivedFile, BLOCK};
use ratchet_store::embedded::BackupReport;
use ratchet_store::private_files;
use reqwest::Response;

use crate::print::Progress;

/// Unpacks a streamed backup into a new folder, which appears only once it is whole.
pub(super) async fn receive(stream: Response, to: &Path) -> anyhow::Result<BackupReport> {
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    private_files::create_dir(&partial)
        .with_context(|| format!("cannot make the folder {}", partial.display()))?;
    let received = unpack(stream, &partial).await.and_then(|report| {
        std::fs::rename(&partial, to)
            .with_context(|| format!("cannot make the folder {}", to.display()))?;
        Ok(report)
    });
    if received.is_err() {
        std::fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    let BackupReport { bytes, files } = received?;
    let moved = |file: &PathBuf| Some(to.join(file.strip_prefix(&partial).ok()?));
    let files = files.iter().filter_map(moved).collect();
    Ok(BackupReport { bytes, files })
}

async fn unpack(mut stream: Response, folder: &Path) -> anyhow::Result<BackupReport> {
    let mut unpacker = Unpacker::new(folder);
    let mut progress = Progress::new("received");
    while let Some(piece) = stream.chunk().await.context("the stream broke off; try again")? {
        unpacker.take(&piece)?;
        progress.add(piece.len());
    }
    unpacker.finish()
}

/// Turns the pieces of a tar file into files.
struct Unpacker<'a> {
    folder: &'a Path,
    state: State,
    report: BackupReport,
}

enum State {
    /// Collecting the next header.
    Header(Vec<u8>),
    /// Writing a file: bytes of content to come, and bytes of padding after it.
    Content { file: File, path: PathBuf, left: u64, padding: usize },
    /// The archive said it was over.
    Ended,
}

impl<'a> Unpacker<'a> {
    fn new(folder: &'a Path) -> Self {
        let report = BackupReport { bytes: 0, files: Vec::new() };
        Self { folder, state: State::Header(Vec::new()), report }
    }

    fn take(&mut self, mut piece: &[u8]) -> anyhow::Result<()> {
        while !piece.is_empty() {
            piece = match &mut self.state {
                State::Ended => return Ok(()),
                State::Header(header) => {
                    let (now, later) = piece.split_at(piece.len().min(BLOCK - header.len()));
                    header.extend_from_slice(now);
                    if let Some(block) = header.first_chunk::<BLOCK>() {
                        let entry = ArchivedFile::from_header(block)?;
                        self.begin(entry)?;
                    }
                    later
                }
                State::Content { file, path, left, padding } => {
                    let wanted = usize::try_from(*left).unwrap_or(usize::MAX);
                    let (now, later) = piece.split_at(piece.len().min(wanted));
                    let written = file.write_all(now);
                    written.with_context(|| format!("cannot write {}", path.display()))?;
                    *left -= now.len() as u64;
                    let (skipped, later) = later.split_at(later.len().min(*padding));
                    *padding -= skipped.len();
                    if *left == 0 && *padding == 0 {
                        self.end_of_file()?;
                    }
                    later
                }
            };
        }
        Ok(())
    }

    fn begin(&mut self, entry: Option<ArchivedFile>) -> anyhow::Result<()> {
        let Some(entry) = entry else {
            self.state = State::Ended;
            return Ok(());
        };
        let path = self.folder.join(&entry.name);
        if let Some(folder) = path.parent() {
            let made = private_files::create_dir_all(folder);
            made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let file = private_files::create_new(&path)
            .with_context(|| format!("cannot make the file {}", path.display()))?;
        let padding = entry.padding();
        self.report.bytes += entry.size;
        self.state = State::Content { file, path, left: entry.size, padding };
        if entry.size == 0 { self.end_of_file() } else { Ok(()) }
    }

    fn end_of_file(&mut self) -> anyhow::Result<()> {
        let State::Content { file, path, .. } =
            std::mem::replace(&mut self.state, State::Header(Vec::new()))
        else {
            return Ok(());
        };
        file.sync_all().with_context(|| format!("cannot write {}", path.display()))?;
        self.report.files.push(path);
        Ok(())
    }

    fn finish(self) -> anyhow::Result<BackupReport> {
        ensure!(
            matches!(self.state, State::Ended),
            "the stream ended before the backup did; try again"
        );
        Ok(self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in files {
            let entry = ArchivedFile { name: (*name).to_owned(), size: content.len() as u64 };
            bytes.extend(entry.header().unwrap());
            bytes.extend(*content);
            bytes.extend(vec![0; entry.padding()]);
        }
        bytes.extend([0; 2 * BLOCK]);
        bytes
    }

    #[track_caller]
    fn unpack(bytes: &[u8], piece_len: usize) -> (tempfile::TempDir, anyhow::Result<BackupReport>) {
        let folder = tempfile::tempdir().unwrap();
        let mut unpacker = Unpacker::new(folder.path());
        let taken = bytes.chunks(piece_len).try_for_each(|piece| unpacker.take(piece));
        let report = taken.and_then(|()| unpacker.finish());
        (folder, report)
    }

    #[test]
    fn pieces_of_any_size_give_the_same_files() {
        let big = vec![3; 3 * BLOCK + 17];
        let bytes = archive(&[("a.db", &big), ("empty", b""), ("b.db", &[1; BLOCK])]);
        for piece_len in [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, bytes.len()] {
            let (folder, report) = unpack(&bytes, piece_len);
            assert_eq!(report.unwrap().files.len(), 3, "pieces of {piece_len}");
            assert_eq!(std::fs::read(folder.path().join("a.db")).unwrap(), big);
            assert_eq!(std::fs::read(folder.path().join("empty")).unwrap(), b"");
            assert_eq!(std::fs::read(folder.path().join("b.db")).unwrap(), [1; BLOCK]);
        }
    }

    #[test]
    fn a_stream_cut_short_is_not_a_backup() {
        let bytes = archive(&[("a.db", &[1; 2 * BLOCK])]);
        for len in [0, 10, BLOCK, 2 * BLOCK, 3 * BLOCK, bytes.len() - 2 * BLOCK] {
            let (_folder, report) = unpack(&bytes[..len], 100);
            assert!(report.unwrap_err().to_string().contains("ended before"), "{len} bytes");
        }
    }

    #[test]
    fn a_server_cannot_write_outside_the_folder() {
        let (_folder, report) = unpack(&archive(&[("../a.db", &[1; 9])]), 100);
        assert!(report.unwrap_err().to_string().contains("plain files"));
    }

    #[test]
    fn the_same_name_twice_is_refused() {
        let (_folder, report) = unpack(&archive(&[("a.db", &[1]), ("a.db", &[2])]), 100);
        assert!(report.unwrap_err().to_string().contains("cannot make the file"));
    }
}
