//! The container of a streamed backup: a plain tar file, so that `curl … | tar x` reads it too.
//!
//! Only what a backup needs: regular files with short names. Sizes beyond 8 GiB are written the
//! way GNU tar does it, in binary.

/// The unit of a tar file: headers are one block, contents are padded to whole blocks.
pub const BLOCK: usize = 512;

/// The one folder that an archive may hold files in.
pub const MEDIA_FOLDER: &str = "media/";

const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPE: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..265;
/// The greatest size that eleven octal digits hold.
const MAX_OCTAL_SIZE: u64 = 0o77_777_777_777;
/// Says that a size is binary, not octal.
const IS_BINARY: u8 = 0x80;

/// A file in a tar file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its name: one path component, or `media/` and one more; at most 99 bytes.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Why a block is not a header we can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TarError {
    /// Broken on the way, or not tar at all.
    #[error("the archive is damaged: a header's checksum is wrong")]
    Checksum,
    /// A folder, a link, or a name that would leave the target folder.
    #[error("the archive holds something other than plain files")]
    NotAFile,
    /// The name is too long for a header.
    #[error("the file name does not fit into a header")]
    LongName,
}

impl ArchivedFile {
    /// The header block of this file.
    ///
    /// # Errors
    /// Fails if the name is too long.
    pub fn header(&self) -> Result<[u8; BLOCK], TarError> {
        let mut block = [0; BLOCK];
        put(&mut block[NAME], self.name.as_bytes()).ok_or(TarError::LongName)?;
        block[100..108].copy_from_slice(b"0000600\0");
        block[108..116].copy_from_slice(b"0000000\0");
        block[116..124].copy_from_slice(b"0000000\0");
        block[SIZE].copy_from_slice(&size_field(self.size));
        block[136..148].copy_from_slice(b"00000000000\0");
        block[TYPE] = b'0';
        block[MAGIC].copy_from_slice(b"ustar\x0000");
        let checksum = format!("{:06o}\0 ", checksum(&block));
        block[CHECKSUM].copy_from_slice(checksum.as_bytes());
        Ok(block)
    }

    /// Reads a header block; `None` is the end of the archive.
    ///
    /// # Errors
    /// Refuses damaged headers and anything but a plain file at the top or in the media folder.
    pub fn from_header(block: &[u8; BLOCK]) -> Result<Option<Self>, TarError> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let stated = octal(&block[CHECKSUM]).ok_or(TarError::Checksum)?;
        if stated != u64::from(checksum(block)) {
            return Err(TarError::Checksum);
        }
        let name = std::str::from_utf8(until_nul(&block[NAME])).map_err(|_| TarError::NotAFile)?;
        let last = name.strip_prefix(MEDIA_FOLDER).unwrap_or(name);
        let is_plain_name = !last.is_empty() && last != "." && last != "..";
        let is_file = matches!(block[TYPE], b'0' | 0);
        if !is_file || !is_plain_name || last.contains(['/', '\\']) {
            return Err(TarError::NotAFile);
        }
        let size = size_of(&block[SIZE]).ok_or(TarError::Checksum)?;
        Ok(Some(Self { name: name.to_owned(), size }))
    }

    /// How many zero bytes follow the content.
    pub fn padding(&self) -> usize {
        let block = BLOCK as u64;
        let beyond = self.size % block;
        usize::try_from((block - beyond) % block).unwrap_or(0)
    }
}

/// Copies a text into a field with room for a closing NUL.
fn put(field: &mut [u8], text: &[u8]) -> Option<()> {
    let is_short = text.len() < field.len();
    is_short.then(|| field.iter_mut().zip(text).for_each(|(to, from)| *to = *from))
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

/// The sum of all bytes, the checksum's own read as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let byte = |(at, byte): (usize, &u8)| if CHECKSUM.contains(&at) { b' ' } else { *byte };
    block.iter().enumerate().map(byte).map(u32::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(name: &str, size: u64, padding: usize) {
        let entry = ArchivedFile { name: name.to_owned(), size };
        let header = entry.header().unwrap();
        assert_eq!(ArchivedFile::from_header(&header), Ok(Some(entry.clone())));
        assert_eq!(entry.padding(), padding);
    }

    #[test]
    fn headers_come_back_as_they_were() {
        check_round_trip("telemetry.db", 0, 0);
        check_round_trip("telemetry.db", 1, 511);
        check_round_trip("catalog.db", 512, 0);
        check_round_trip("eight gibibytes", MAX_OCTAL_SIZE, 1);
        check_round_trip("and more", 1 << 40, 0);
        check_round_trip(&format!("media/{}", "a".repeat(64)), 5, 507);
    }

    #[test]
    fn a_zero_block_is_the_end() {
        assert_eq!(ArchivedFile::from_header(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut header =
            ArchivedFile { name: "catalog.db".to_owned(), size: 4096 }.header().unwrap();
        header[130] ^= 1;
        assert_eq!(ArchivedFile::from_header(&header), Err(TarError::Checksum));
    }

    #[test]
    fn names_stay_in_the_folder() {
        for name in ["../a", "/etc/passwd", "a/b", "..", "a\\b", "media/", "media/..", "media/a/b"]
        {
            let header = ArchivedFile { name: name.to_owned(), size: 1 }.header().unwrap();
            assert_eq!(ArchivedFile::from_header(&header), Err(TarError::NotAFile), "{name}");
        }
        let long = ArchivedFile { name: "x".repeat(100), size: 1 };
        assert_eq!(long.header(), Err(TarError::LongName));
    }

    #[test]
    fn noise_is_refused() {
        assert_eq!(ArchivedFile::from_header(&[0xff; BLOCK]), Err(TarError::Checksum));
        assert_eq!(ArchivedFile::from_header(&[b'7'; BLOCK]), Err(TarError::Checksum));
    }
}
