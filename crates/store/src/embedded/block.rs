//! Payload blocks: the inputs, outputs and metadata of one trace's observations in one commit,
//! compressed together. Observations of a trace repeat each other, so together they compress far
//! better than alone; a block is small enough that reading one entry stays cheap.

use std::cell::RefCell;

use ratchet_core::payload::{Json, Payload};
use serde_json::value::RawValue;

use super::entry::{Entry, EntryMetadata};

/// A block is closed once it holds this many bytes. Chosen by benchmark, see ADR 2.
const BLOCK_BYTES: usize = 32 * 1024;
/// Level 1 costs two thirds of level 3 and is three percent larger, see ADR 2.
const ZSTD_LEVEL: i32 = 1;
/// No block can be larger: requests are bounded well below. Guards against damaged files.
const MAX_BLOCK_BYTES: usize = 512 * 1024 * 1024;

/// Collects entries and hands out compressed blocks.
#[derive(Debug, Default)]
pub(super) struct Packer {
    head: Vec<u8>,
    body: Vec<u8>,
    entries: u32,
    /// The blocks that are full, compressed.
    pub(super) blocks: Vec<Vec<u8>>,
}

impl Packer {
    /// Adds an entry; returns the index of its block and its index in the block.
    pub(super) fn add(&mut self, entry: &Entry) -> (usize, u32) {
        let position = (self.blocks.len(), self.entries);
        self.part(payload_form(entry.input.as_ref()));
        self.part(payload_form(entry.output.as_ref()));
        let (form, text) = entry.metadata.encode();
        self.part((form, &text));
        self.entries += 1;
        if self.body.len() >= BLOCK_BYTES {
            self.close();
        }
        position
    }

    /// Compresses the rest and returns all blocks.
    pub(super) fn finish(mut self) -> Vec<Vec<u8>> {
        if self.entries > 0 {
            self.close();
        }
        self.blocks
    }

    fn part(&mut self, (form, text): (u8, &str)) {
        self.head.push(form);
        // Requests are limited to far below four gigabytes.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.head.extend_from_slice(&length.to_le_bytes());
        self.body.extend_from_slice(text.as_bytes());
    }

    fn close(&mut self) {
        let mut raw = Vec::with_capacity(8 + self.head.len() + self.body.len());
        raw.extend_from_slice(&self.entries.to_le_bytes());
        raw.append(&mut self.head);
        raw.append(&mut self.body);
        self.entries = 0;
        self.blocks.push(compress(&raw));
    }
}

fn payload_form(payload: Option<&Payload>) -> (u8, &str) {
    match payload {
        None => (0, ""),
        Some(Payload::Text(text)) => (1, text),
        Some(Payload::Json(json)) => (2, json.as_str()),
    }
}

thread_local! {
    // Creating a compressor costs more than compressing a block.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses into a frame that ends with a checksum of the content, which is verified on reading;
/// frames of earlier versions have none and are read without.
pub(super) fn compress_checked(raw: &[u8]) -> Option<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?;
            compressor.include_checksum(true).ok()?;
            *slot = Some(compressor);
        }
        slot.as_mut()?.compress(raw).ok()
    })
}

/// Whether a compressed frame ends with a checksum.
pub(super) fn has_checksum(frame: &[u8]) -> bool {
    // The byte after the four magic bytes has the flags of the frame.
    frame.get(4).is_some_and(|descriptor| descriptor & 0b100 != 0)
}

/// The raw length, then the compressed bytes; an incompressible block is stored raw.
fn compress(raw: &[u8]) -> Vec<u8> {
    let Some(mut compressed) = compress_checked(raw) else {
        return [&0u32.to_le_bytes(), raw].concat();
    };
    let length = u32::try_from(raw.len()).unwrap_or(u32::MAX);
    let mut block = Vec::with_capacity(4 + compressed.len());
    block.extend_from_slice(&length.to_le_bytes());
    block.append(&mut compressed);
    block
}

/// A decompressed block.
#[derive(Debug)]
pub(super) struct Block {
    raw: Vec<u8>,
    entries: usize,
    /// Offset of each entry's texts in `raw`: computed once, so that reading all entries is linear.
    /// Empty when the heads are damaged.
    starts: Vec<usize>,
}

const PARTS: usize = 3;
const PART_HEAD: usize = 5;

impl Block {
    /// Decompresses a block and verifies its checksum; `None` when it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let raw = match length {
            0 => rest.to_vec(),
            1..=MAX_BLOCK_BYTES => zstd::bulk::decompress(rest, length).ok()?,
            _ => return None,
        };
        if length != 0 && raw.len() != length {
            return None;
        }
        let (entries, _) = raw.split_first_chunk::<4>()?;
        let entries = usize::try_from(u32::from_le_bytes(*entries)).ok()?;
        let starts = starts(&raw, entries).unwrap_or_default();
        Some(Self { entries, raw, starts })
    }

    /// Size in memory.
    pub(super) fn bytes(&self) -> usize {
        self.raw.len() + self.starts.len() * size_of::<usize>()
    }

    /// Whether a block has a checksum.
    pub(super) fn is_checked(bytes: &[u8]) -> bool {
        bytes.split_first_chunk::<4>().is_some_and(|(_, frame)| has_checksum(frame))
    }

    /// Whether every entry can be read.
    pub(super) fn is_whole(&self) -> bool {
        let heads = self.entries.checked_mul(PARTS * PART_HEAD);
        let split = heads.and_then(|heads| self.raw.get(4..)?.split_at_checked(heads));
        let Some((heads, body)) = split else { return false };
        let lengths = heads.as_chunks::<PART_HEAD>().0.iter().map(part_length);
        lengths.sum::<usize>() == body.len() && std::str::from_utf8(body).is_ok()
    }

    /// The entry at an index; `None` when there is none or it is damaged.
    pub(super) fn entry(&self, position: usize) -> Option<Entry> {
        let mut at = *self.starts.get(position)?;
        let first = 4 + position * PARTS * PART_HEAD;
        let (heads, _) = self.raw.get(first..first + PARTS * PART_HEAD)?.as_chunks::<PART_HEAD>();
        let mut parts = [(0, ""); PARTS];
        for (part, head) in parts.iter_mut().zip(heads) {
            let end = at.checked_add(part_length(head))?;
            *part = (head[0], std::str::from_utf8(self.raw.get(at..end)?).ok()?);
            at = end;
        }
        let [input, output, (form, metadata)] = parts;
        Some(Entry {
            input: read_payload(input),
            output: read_payload(output),
            metadata: EntryMetadata::decode(form, metadata),
        })
    }
}

/// Offset of each entry's texts; `None` when there are fewer heads than entries, or impossible
/// lengths.
fn starts(raw: &[u8], entries: usize) -> Option<Vec<usize>> {
    let body = entries.checked_mul(PARTS * PART_HEAD)?.checked_add(4)?;
    let (heads, _) = raw.get(4..body)?.as_chunks::<PART_HEAD>();
    let mut at = body;
    let mut starts = Vec::with_capacity(entries);
    for parts in heads.chunks_exact(PARTS) {
        starts.push(at);
        for head in parts {
            at = at.checked_add(part_length(head))?;
        }
    }
    Some(starts)
}

fn part_length(head: &[u8; PART_HEAD]) -> usize {
    u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize
}

/// Parses stored JSON, however deep it nests.
pub(super) fn kept_json(text: &str) -> Option<Json> {
    serde_json::from_str::<&RawValue>(text).ok().map(Json::from_raw)
}

fn read_payload((form, text): (u8, &str)) -> Option<Payload> {
    match form {
        1 => Some(Payload::Text(text.into())),
        2 => kept_json(text).map(Payload::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry {
            input: Some(Payload::Text(text.into())),
            output: Json::parse("[1]").map(Payload::Json),
            metadata: EntryMetadata::Plain(vec![("k\"".to_owned(), Json::parse("{}").unwrap())]),
        }
    }

    #[test]
    fn entries_come_back_from_the_block_and_place_they_went_to() {
        let texts = ["", "a", &"long ".repeat(20_000), "b", "日本"];
        let mut packer = Packer::default();
        let places: Vec<_> = texts.iter().map(|text| packer.add(&entry(text))).collect();
        let blocks = packer.finish();
        assert_eq!(blocks.len(), 2, "the long entry closes the first block");
        for (text, (block, position)) in texts.iter().zip(places) {
            let block = Block::read(&blocks[block]).unwrap();
            assert_eq!(block.entry(position as usize), Some(entry(text)));
        }
    }

    #[test]
    fn a_damaged_block_is_no_block() {
        let mut packer = Packer::default();
        packer.add(&entry("a"));
        let block = packer.finish().remove(0);
        for cut in 0..block.len() {
            let read = Block::read(&block[..cut]);
            assert!(read.and_then(|block| block.entry(0)).is_none(), "cut at {cut}");
        }
        assert!(Block::read(&block).unwrap().entry(1).is_none());
    }

    #[test]
    fn a_wrong_bit_never_gives_other_words() {
        let mut packer = Packer::default();
        packer.add(&entry("what was said"));
        packer.add(&entry(&"and answered ".repeat(100)));
        let block = packer.finish().remove(0);
        assert!(Block::is_checked(&block) && Block::read(&block).unwrap().is_whole());
        let raw = Block::read(&block).unwrap().raw;
        for bit in 0..block.len() * 8 {
            let mut wrong = block.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            // A few bits of a frame have no meaning; the content is either right or not returned at
            // all. Without the checksum flag, four bytes are left over.
            let read = Block::read(&wrong);
            assert!(read.is_none_or(|read| read.raw == raw || !read.is_whole()), "bit {bit}");
        }
    }

    #[test]
    fn blocks_of_earlier_versions_are_read() {
        let mut packer = Packer::default();
        packer.add(&entry("a"));
        let raw = Block::read(&packer.finish().remove(0)).unwrap().raw;
        let frame = zstd::bulk::compress(&raw, ZSTD_LEVEL).unwrap();
        let length = u32::try_from(raw.len()).unwrap().to_le_bytes();
        let old = [length.as_slice(), &frame].concat();
        assert!(!Block::is_checked(&old));
        assert_eq!(Block::read(&old).unwrap().entry(0), Some(entry("a")));
    }
}
