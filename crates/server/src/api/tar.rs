//! The format of a streamed backup: a plain tar file, so that `curl … | tar x` reads it too.
//!
//! Only regular files. Sizes beyond 8 GiB are written in binary and long names as a preceding
//! entry, both as in GNU tar.

use ratchet_store::backup::is_backup_path;

/// The unit of a tar file: headers are one block, contents are padded to whole blocks.
pub const BLOCK: usize = 512;

/// Maximum length of a path.
pub const MAX_NAME: usize = 4_096;

const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..108;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPE: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..265;
/// The greatest size in eleven octal digits.
const MAX_OCTAL_SIZE: u64 = 0o77_777_777_777;
/// Flag of a binary size.
const IS_BINARY: u8 = 0x80;
/// Type of an entry whose content is the name of the next.
const LONG_NAME: u8 = b'L';
/// Name of such an entry.
const LONG_NAME_NAME: &str = "././@LongLink";

/// A file in a tar file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// A path that is allowed in a backup.
    pub name: String,
    pub size: u64,
    /// Whether it is executable.
    pub is_program: bool,
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    File(ArchivedFile),
    /// The next so many bytes are the name of the next file, instead of that in its header.
    LongName(usize),
    /// The end of the archive.
    End,
}

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TarError {
    /// Damaged, or not a tar file.
    #[error("the archive is damaged: a header's checksum is wrong")]
    Checksum,
    /// A folder, a link, or a name outside the target folder.
    #[error("the archive contains something other than regular files")]
    NotAFile,
    /// The name is too long for a header.
    #[error("the file name does not fit into a header")]
    LongName,
}

impl ArchivedFile {
    /// Everything before the file's content, in whole blocks.
    ///
    /// # Errors
    /// Fails if the name is too long.
    pub fn header(&self) -> Result<Vec<u8>, TarError> {
        if self.name.len() < NAME.len() {
            return Ok(block(&self.name, self.size, (b'0', self.mode())).to_vec());
        }
        if self.name.len() >= MAX_NAME {
            return Err(TarError::LongName);
        }
        let mut name = self.name.clone().into_bytes();
        name.push(0);
        let mut blocks =
            block(LONG_NAME_NAME, name.len() as u64, (LONG_NAME, self.mode())).to_vec();
        name.resize(name.len().next_multiple_of(BLOCK), 0);
        blocks.extend(name);
        let start = self.name.char_indices().map_while(|(at, char)| {
            let end = at + char.len_utf8();
            (end < NAME.len()).then_some(end)
        });
        let start = self.name.get(..start.last().unwrap_or(0)).unwrap_or_default();
        blocks.extend(block(start, self.size, (b'0', self.mode())));
        Ok(blocks)
    }

    fn mode(&self) -> &'static [u8; 8] {
        if self.is_program { b"0000700\0" } else { b"0000600\0" }
    }

    /// Number of zero bytes after the content.
    pub fn padding(&self) -> usize {
        padding(self.size)
    }
}

impl Header {
    /// Reads a header block. A preceding long name replaces its own.
    ///
    /// # Errors
    /// Fails on damaged headers, and on anything but regular files that are allowed in a backup.
    pub fn read(block: &[u8; BLOCK], long_name: Option<String>) -> Result<Self, TarError> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(Self::End);
        }
        let stated = octal(&block[CHECKSUM]).ok_or(TarError::Checksum)?;
        if stated != u64::from(checksum(block)) {
            return Err(TarError::Checksum);
        }
        let size = size_of(&block[SIZE]).ok_or(TarError::Checksum)?;
        if block[TYPE] == LONG_NAME {
            let length = usize::try_from(size).ok().filter(|length| *length <= MAX_NAME);
            return length.map(Self::LongName).ok_or(TarError::LongName);
        }
        let own = || std::str::from_utf8(until_nul(&block[NAME])).ok().map(str::to_owned);
        let name = long_name.or_else(own).ok_or(TarError::NotAFile)?;
        let is_file = matches!(block[TYPE], b'0' | 0);
        if !is_file || !is_backup_path(&name) {
            return Err(TarError::NotAFile);
        }
        let is_program = octal(&block[MODE]).is_some_and(|mode| mode & 0o100 != 0);
        Ok(Self::File(ArchivedFile { name, size, is_program }))
    }
}

fn block(name: &str, size: u64, (kind, mode): (u8, &[u8; 8])) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    put(&mut block[NAME], name.as_bytes());
    block[MODE].copy_from_slice(mode);
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[SIZE].copy_from_slice(&size_field(size));
    block[136..148].copy_from_slice(b"00000000000\0");
    block[TYPE] = kind;
    block[MAGIC].copy_from_slice(b"ustar\x0000");
    let checksum = format!("{:06o}\0 ", checksum(&block));
    block[CHECKSUM].copy_from_slice(checksum.as_bytes());
    block
}

/// Number of zero bytes after a content of this size.
pub fn padding(size: u64) -> usize {
    let block = BLOCK as u64;
    let beyond = size % block;
    usize::try_from((block - beyond) % block).unwrap_or(0)
}

/// Copies a text into a field.
fn put(field: &mut [u8], text: &[u8]) {
    field.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
}

fn size_field(size: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if size <= MAX_OCTAL_SIZE {
        field[..11].copy_from_slice(format!("{size:011o}").as_bytes());
    } else {
        field[0] = IS_BINARY;
        field[4..].copy_from_slice(&size.to_be_bytes());
    }
    field
}

fn size_of(field: &[u8]) -> Option<u64> {
    let is_binary = field.first() == Some(&IS_BINARY);
    if is_binary {
        field.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
    } else {
        octal(field)
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(until_nul(field)).ok()?;
    u64::from_str_radix(text.trim(), 8).ok()
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The sum of all bytes, with the checksum field read as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let byte = |(at, byte): (usize, &u8)| if CHECKSUM.contains(&at) { b' ' } else { *byte };
    block.iter().enumerate().map(byte).map(u32::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, size: u64) -> ArchivedFile {
        ArchivedFile { name: name.to_owned(), size, is_program: false }
    }

    /// Reads what [`ArchivedFile::header`] wrote.
    fn read(header: &[u8]) -> Result<Header, TarError> {
        let (blocks, _) = header.as_chunks::<BLOCK>();
        let read = Header::read(&blocks[0], None)?;
        let Header::LongName(length) = read else { return Ok(read) };
        let name = header[BLOCK..BLOCK + length - 1].to_vec();
        Header::read(blocks.last().unwrap(), Some(String::from_utf8(name).unwrap()))
    }

    #[track_caller]
    fn check_round_trip(name: &str, size: u64, padding: usize) {
        let entry = file(name, size);
        let header = entry.header().unwrap();
        assert_eq!(read(&header), Ok(Header::File(entry.clone())));
        assert_eq!(entry.padding(), padding);
        let program = ArchivedFile { is_program: true, ..entry };
        assert_eq!(read(&program.header().unwrap()), Ok(Header::File(program)));
    }

    #[test]
    fn headers_come_back_as_they_were() {
        check_round_trip("telemetry.db", 0, 0);
        check_round_trip("telemetry.db", 1, 511);
        check_round_trip("catalog.db", 512, 0);
        check_round_trip("eight gibibytes", MAX_OCTAL_SIZE, 1);
        check_round_trip("and more", 1 << 40, 0);
        check_round_trip(&format!("media/{}", "a".repeat(64)), 5, 507);
        for length in [93, 94, 95, 505, 506, 507, 4_000] {
            check_round_trip(&format!("chats/{}", "a".repeat(length)), 5, 507);
        }
        check_round_trip(&format!("chats/{}", "日".repeat(60)), 5, 507);
    }

    #[test]
    fn a_zero_block_is_the_end() {
        assert_eq!(Header::read(&[0; BLOCK], None), Ok(Header::End));
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut header = file("catalog.db", 4096).header().unwrap();
        header[130] ^= 1;
        assert_eq!(read(&header), Err(TarError::Checksum));
    }

    #[test]
    fn names_stay_in_the_folder() {
        for name in ["../a", "/etc/passwd", "a/b", "..", "a\\b", "media/", "media/..", "media/a/b"]
        {
            let header = file(name, 1).header().unwrap();
            assert_eq!(read(&header), Err(TarError::NotAFile), "{name}");
        }
        let deep = format!("chats/{}/../../../a", "a".repeat(200));
        assert_eq!(read(&file(&deep, 1).header().unwrap()), Err(TarError::NotAFile));
        assert_eq!(file(&"x".repeat(MAX_NAME), 1).header(), Err(TarError::LongName));
    }

    #[test]
    fn noise_is_refused() {
        assert_eq!(Header::read(&[0xff; BLOCK], None), Err(TarError::Checksum));
        assert_eq!(Header::read(&[b'7'; BLOCK], None), Err(TarError::Checksum));
    }
}
