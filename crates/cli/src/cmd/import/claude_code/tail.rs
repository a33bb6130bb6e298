//! Transcripts as they grow: which files there are, and what is new in them.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::claude_code::transcript::{
    LineResult, SubAgentMetadata, Transcript, Turns,
};

use super::report::Report;

/// Bytes read of one file at a time.
const PIECE_BYTES: usize = 1 << 20;
/// A longer line is broken: nothing that Claude Code writes comes near.
const MAX_LINE_BYTES: usize = 64 << 20;

/// All transcripts that are read together.
#[derive(Debug, Default)]
pub(super) struct TranscriptTails {
    /// Sessions before sub-agents, whose turns they know.
    files: BTreeMap<TranscriptKey, Tail>,
    /// Those that are still to be looked into.
    waiting: VecDeque<TranscriptKey>,
    turns: Turns,
}

type TranscriptKey = (Whose, PathBuf);

/// Whose transcript a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Session,
    Agent,
}

/// A file that is read up to some place.
#[derive(Debug, Default)]
struct Tail {
    /// The file itself, whatever its name: another one may take its place.
    inode: u64,
    read: u64,
    line: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    transcript: Transcript,
    is_new: bool,
}

impl TranscriptTails {
    /// Looks which files there are.
    pub(super) fn look(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        for path in paths {
            self.look_at(path).with_context(|| format!("cannot read {}", path.display()))?;
        }
        self.waiting = self.files.keys().cloned().collect();
        Ok(())
    }

    fn look_at(&mut self, path: &Path) -> std::io::Result<()> {
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                let entry = entry?.path();
                let is_transcript = entry.extension().is_some_and(|ending| ending == "jsonl");
                if is_transcript || entry.is_dir() {
                    self.look_at(&entry)?;
                }
            }
            return Ok(());
        }
        if !path.exists() {
            // `--follow` may wait for it.
            return Ok(());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let whose = if name.starts_with("agent-") { Whose::Agent } else { Whose::Session };
        let open = || Tail { transcript: transcript(whose, path), is_new: true, ..Tail::default() };
        self.files.entry((whose, path.to_owned())).or_insert_with(open);
        Ok(())
    }

    /// Reads a piece of what is new, from one large file or from many small ones; `None` when
    /// nothing is.
    pub(super) fn read(&mut self, report: &mut Report) -> anyhow::Result<Option<Patches>> {
        let mut patches = Patches::default();
        let mut bytes = 0;
        while let Some(location) = self.waiting.front().filter(|_| bytes < PIECE_BYTES) {
            let (whose, path) = location;
            let Some(tail) = self.files.get_mut(location) else { break };
            let before = tail.read;
            let read = tail.read(*whose, path, &mut self.turns, report);
            match read.with_context(|| format!("cannot read {}", path.display()))? {
                Some(piece) => {
                    patches.extend(piece);
                    // A file that took the place of a longer one counts for something, too.
                    let read = tail.read.saturating_sub(before).max(1);
                    bytes = bytes.saturating_add(usize::try_from(read).unwrap_or(usize::MAX));
                }
                None => drop(self.waiting.pop_front()),
            }
        }
        Ok((bytes > 0).then_some(patches))
    }

    /// Takes the last lines of files that do not end with a line break.
    pub(super) fn finish(&mut self, report: &mut Report) -> Patches {
        let mut patches = Patches::default();
        for ((_, path), tail) in &mut self.files {
            let rest = std::mem::take(&mut tail.rest);
            if !rest.is_empty() {
                patches.extend(tail.take(&rest, path, &mut self.turns, report));
            }
        }
        patches
    }
}

fn transcript(whose: Whose, path: &Path) -> Transcript {
    match whose {
        Whose::Session => Transcript::new(),
        Whose::Agent => {
            // Written before the first line; where it is missing, less is known.
            let about = fs::read_to_string(path.with_extension("meta.json")).unwrap_or_default();
            Transcript::of_agent(SubAgentMetadata::parse(&about))
        }
    }
}

impl Tail {
    fn read(
        &mut self,
        whose: Whose,
        path: &Path,
        turns: &mut Turns,
        report: &mut Report,
    ) -> std::io::Result<Option<Patches>> {
        let about = match fs::metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_another = self.inode != about.ino() || about.len() < self.read;
        if is_another {
            // Read from the beginning: what was recorded before stays as it is.
            let is_new = self.is_new;
            let transcript = transcript(whose, path);
            *self = Self { inode: about.ino(), transcript, is_new, ..Self::default() };
        }
        if about.len() == self.read {
            return Ok(None);
        }
        if std::mem::take(&mut self.is_new) {
            report.count_file();
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = Vec::new();
        let bytes = file.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        self.read += bytes as u64;
        self.rest.append(&mut piece);
        Ok(Some(self.take_lines(path, turns, report)))
    }

    fn take_lines(&mut self, path: &Path, turns: &mut Turns, report: &mut Report) -> Patches {
        let mut patches = Patches::default();
        let bytes = std::mem::take(&mut self.rest);
        let mut rest = bytes.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            patches.extend(self.take(line, path, turns, report));
            rest = after.get(1..).unwrap_or_default();
        }
        self.rest = rest.to_vec();
        if self.rest.len() > MAX_LINE_BYTES {
            self.rest = b"too long".to_vec();
        }
        patches
    }

    fn take(
        &mut self,
        line: &[u8],
        path: &Path,
        turns: &mut Turns,
        report: &mut Report,
    ) -> Patches {
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return Patches::default();
        }
        report.count_line();
        let taken = match std::str::from_utf8(line) {
            Ok(text) => self.transcript.take(text, turns),
            Err(error) => LineResult::Malformed(format!("it is not UTF-8: {error}")),
        };
        match taken {
            LineResult::Patches(patches) => {
                report.count(&patches);
                return patches;
            }
            LineResult::Nothing => {}
            LineResult::Unknown(word) => report.note_unknown(path, self.line, &word),
            LineResult::Malformed(why) => report.note_malformed(path, self.line, why),
        }
        Patches::default()
    }
}
