//! A backup that comes as a stream: the server's tar file, unpacked while it arrives.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use ratchet_server::api::tar::{ArchivedFile, BLOCK, Header, padding};
use ratchet_store::backup::{BackupReport, FileDigest, MANIFEST_FILE, Manifest, ManifestFile};
use ratchet_store::private_files;
use reqwest::Response;

use crate::print::Progress;

/// Unpacks a streamed backup into a new folder, which appears only once it is whole.
pub(super) async fn receive(stream: Response, to: &Path) -> anyhow::Result<BackupReport> {
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    private_files::create_dir(&partial)
        .with_context(|| format!("cannot create the folder {}", partial.display()))?;
    let received = unpack(stream, &partial).await.and_then(|report| {
        std::fs::rename(&partial, to)
            .with_context(|| format!("cannot create the folder {}", to.display()))?;
        Ok(report)
    });
    if received.is_err() {
        std::fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    let BackupReport { bytes, files, left_out } = received?;
    let moved = |file: &PathBuf| Some(to.join(file.strip_prefix(&partial).ok()?));
    let files = files.iter().filter_map(moved).collect();
    Ok(BackupReport { bytes, files, left_out })
}

async fn unpack(mut stream: Response, folder: &Path) -> anyhow::Result<BackupReport> {
    let mut unpacker = Unpacker::new(folder);
    let mut progress = Progress::new("received");
    while let Some(piece) =
        stream.chunk().await.context("the download was interrupted; try again")?
    {
        unpacker.take(&piece)?;
        progress.add(piece.len());
    }
    unpacker.finish()
}

/// Turns the pieces of a tar file into files.
struct Unpacker<'a> {
    folder: &'a Path,
    state: State,
    /// What the next file is called, where its header has no room for it.
    long_name: Option<String>,
    /// What came, to be held against the manifest.
    received: Vec<ManifestFile>,
}

enum State {
    Header(Vec<u8>),
    /// Collecting a long name: bytes to come, padding included, and how many of all are the name.
    Name {
        bytes: Vec<u8>,
        left: usize,
        length: usize,
    },
    /// Writing a file: bytes of content to come, and bytes of padding after it.
    Content(Box<Incoming>),
    /// The end marker was read.
    Ended,
}

/// A file on its way to the disk.
struct Incoming {
    about: ArchivedFile,
    file: File,
    left: u64,
    padding: usize,
    digest: FileDigest,
}

impl<'a> Unpacker<'a> {
    fn new(folder: &'a Path) -> Self {
        let state = State::Header(Vec::new());
        Self { folder, state, long_name: None, received: Vec::new() }
    }

    fn take(&mut self, mut piece: &[u8]) -> anyhow::Result<()> {
        while !piece.is_empty() {
            piece = match &mut self.state {
                State::Ended => return Ok(()),
                State::Header(header) => {
                    let (now, later) = piece.split_at(piece.len().min(BLOCK - header.len()));
                    header.extend_from_slice(now);
                    if let Some(block) = header.first_chunk::<BLOCK>() {
                        let header = Header::read(block, self.long_name.take())?;
                        self.begin(header)?;
                    }
                    later
                }
                State::Name { bytes, left, length } => {
                    let (now, later) = piece.split_at(piece.len().min(*left));
                    bytes.extend_from_slice(now);
                    *left -= now.len();
                    if *left == 0 {
                        // The name ends with a NUL.
                        let name = bytes.get(..length.saturating_sub(1)).unwrap_or_default();
                        let name = std::str::from_utf8(name).context("a name is not UTF-8")?;
                        self.long_name = Some(name.to_owned());
                        self.state = State::Header(Vec::new());
                    }
                    later
                }
                State::Content(incoming) => {
                    let later = incoming.take(piece, self.folder)?;
                    if incoming.left == 0 && incoming.padding == 0 {
                        self.end_of_file()?;
                    }
                    later
                }
            };
        }
        Ok(())
    }

    fn begin(&mut self, header: Header) -> anyhow::Result<()> {
        let about = match header {
            Header::End => {
                self.state = State::Ended;
                return Ok(());
            }
            Header::LongName(length) => {
                let left = length.next_multiple_of(BLOCK);
                self.state = State::Name { bytes: Vec::new(), left, length };
                return Ok(());
            }
            Header::File(about) => about,
        };
        let path = self.folder.join(&about.name);
        if let Some(folder) = path.parent() {
            let made = private_files::create_dir_all(folder);
            made.with_context(|| format!("cannot create the folder {}", folder.display()))?;
        }
        let mode = if about.is_program { 0o700 } else { 0o600 };
        let mut options = private_files::options();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
        let file = file.with_context(|| format!("cannot create the file {}", path.display()))?;
        let (left, padding) = (about.size, padding(about.size));
        let digest = FileDigest::default();
        self.state = State::Content(Box::new(Incoming { about, file, left, padding, digest }));
        if left == 0 { self.end_of_file() } else { Ok(()) }
    }

    fn end_of_file(&mut self) -> anyhow::Result<()> {
        let State::Content(incoming) =
            std::mem::replace(&mut self.state, State::Header(Vec::new()))
        else {
            return Ok(());
        };
        let name = incoming.about.name;
        incoming.file.sync_all().with_context(|| format!("cannot write {name}"))?;
        self.received.push(incoming.digest.finish(name));
        Ok(())
    }

    /// What came, if it is what was sent.
    fn finish(self) -> anyhow::Result<BackupReport> {
        ensure!(
            matches!(self.state, State::Ended),
            "the stream ended before the backup did; try again"
        );
        let manifest = Manifest::read(self.folder)?;
        let manifest = manifest.with_context(|| {
            format!("the server sent no {MANIFEST_FILE}; use the same version of ratchet as it")
        })?;
        for line in self.received.iter().filter(|line| line.path != MANIFEST_FILE) {
            let is_told = manifest.files.contains(line);
            ensure!(is_told, "{} was damaged in transit; try again", line.path);
        }
        let is_missing = |path: &str| !self.received.iter().any(|line| line.path == path);
        let missing = manifest.files.iter().find(|line| is_missing(&line.path));
        if let Some(line) = missing {
            anyhow::bail!("{} is missing from the download; try again", line.path);
        }
        Ok(BackupReport {
            bytes: self.received.iter().map(|line| line.bytes).sum(),
            files: self.received.iter().map(|line| self.folder.join(&line.path)).collect(),
            left_out: manifest.left_out,
        })
    }
}

impl Incoming {
    /// Takes what belongs to the file; returns what comes after it.
    fn take<'p>(&mut self, piece: &'p [u8], folder: &Path) -> anyhow::Result<&'p [u8]> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (now, later) = piece.split_at(piece.len().min(wanted));
        let written = self.file.write_all(now);
        written
            .with_context(|| format!("cannot write {}", folder.join(&self.about.name).display()))?;
        self.digest.update(now);
        self.left -= now.len() as u64;
        let (skipped, later) = later.split_at(later.len().min(self.padding));
        self.padding -= skipped.len();
        Ok(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_core::time::Timestamp;

    fn entry(name: &str, content: &[u8]) -> Vec<u8> {
        let size = content.len() as u64;
        let entry = ArchivedFile { name: name.to_owned(), size, is_program: false };
        let padding = vec![0; entry.padding()];
        [entry.header().unwrap().as_slice(), content, &padding].concat()
    }

    /// An archive of some files, with a manifest that may list others.
    fn archive(files: &[(&str, &[u8])], listed: &[(&str, &[u8])]) -> Vec<u8> {
        let mut manifest = Manifest::new(Timestamp::default(), Vec::new());
        for (name, content) in listed {
            let mut digest = FileDigest::default();
            digest.update(content);
            manifest.files.push(digest.finish(*name));
        }
        let mut bytes: Vec<u8> =
            files.iter().flat_map(|(name, content)| entry(name, content)).collect();
        bytes.extend(entry(MANIFEST_FILE, manifest.to_text().unwrap().as_bytes()));
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

    #[track_caller]
    fn refused(files: &[(&str, &[u8])], listed: &[(&str, &[u8])], expected: &str) {
        let (_folder, report) = unpack(&archive(files, listed), 100);
        let error = report.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn pieces_of_any_size_give_the_same_files() {
        let big = vec![3; 3 * BLOCK + 17];
        let long = format!("chats/{}/a.jsonl", "f".repeat(150));
        let files: [(&str, &[u8]); 4] =
            [("a.db", &big), ("empty", b""), (&long, &[1; BLOCK]), ("b.db", &[1; BLOCK])];
        let bytes = archive(&files, &files);
        for piece_len in [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, bytes.len()] {
            let (folder, report) = unpack(&bytes, piece_len);
            assert_eq!(report.unwrap().files.len(), 5, "pieces of {piece_len}");
            for (name, content) in files {
                assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), content);
            }
        }
    }

    #[test]
    fn a_stream_cut_short_is_not_a_backup() {
        let files: [(&str, &[u8]); 1] = [("a.db", &[1; 2 * BLOCK])];
        let bytes = archive(&files, &files);
        for len in [0, 10, BLOCK, 2 * BLOCK, 3 * BLOCK, bytes.len() - 2 * BLOCK] {
            let (_folder, report) = unpack(&bytes[..len], 100);
            assert!(report.unwrap_err().to_string().contains("ended before"), "{len} bytes");
        }
    }

    #[test]
    fn what_is_not_what_was_sent_is_refused() {
        refused(&[("a.db", b"one")], &[("a.db", b"two")], "a.db was damaged in transit");
        refused(&[("a.db", b"one")], &[], "a.db was damaged in transit");
        refused(&[], &[("a.db", b"one")], "a.db is missing from the download");
    }

    #[test]
    fn a_server_cannot_write_outside_the_folder() {
        refused(&[("../a.db", &[1; 9])], &[], "regular files");
    }

    #[test]
    fn the_same_name_twice_is_refused() {
        refused(&[("a.db", &[1]), ("a.db", &[2])], &[], "cannot create the file");
    }
}
