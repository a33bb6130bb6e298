/// References that replace media bytes in records.
pub mod reference;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Length of a media id, in characters of the hash.
const ID_CHARS: usize = 22;

/// The SHA-256 of a media file: its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MediaHash([u8; 32]);

/// Error of parsing a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the base64 of 32 bytes, as a SHA-256 hash is")]
pub struct MediaHashError;

impl MediaHash {
    /// Wraps a computed hash.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a base64 hash, as SDKs send it.
    ///
    /// # Errors
    /// Rejects anything but base64 of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, MediaHashError> {
        let bytes = STANDARD.decode(text).map_err(|_| MediaHashError)?;
        bytes.try_into().map(Self).map_err(|_| MediaHashError)
    }

    /// Returns the hash in base64.
    pub fn to_base64(self) -> String {
        STANDARD.encode(self.0)
    }

    /// Returns the hash in hexadecimal, as a file name.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Parses a hexadecimal hash.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, index) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(text.get(index..index + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Returns the media id, computed as SDKs compute it: they reject any other.
    pub fn media_id(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0).chars().take(ID_CHARS).collect()
    }
}

impl fmt::Display for MediaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// An accepted content type of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaType {
    name: &'static str,
    shown: MediaDisplay,
}

/// How browsers may display a content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaDisplay {
    /// Inline: it cannot contain scripts.
    Inline,
    /// As a download only: it may contain scripts.
    AsFile,
}

impl MediaType {
    /// Any other bytes.
    pub const OTHER: Self = Self { name: "application/octet-stream", shown: MediaDisplay::AsFile };

    /// Parses a content type; `None` if it is not accepted.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        let found = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(name, shown)| Self { name, shown: *shown })
    }

    /// Returns all accepted types.
    pub fn all() -> impl Iterator<Item = &'static str> {
        TYPES.iter().map(|(name, _)| *name)
    }

    /// Returns the content type as declared.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns how browsers may display it.
    pub fn shown(self) -> MediaDisplay {
        self.shown
    }

    /// Returns a content type to serve that browsers never treat as a page or script.
    pub fn served_as(self) -> &'static str {
        match self.shown {
            MediaDisplay::Inline => self.name,
            MediaDisplay::AsFile => "application/octet-stream",
        }
    }
}

const TYPES: [(&str, MediaDisplay); 52] = [
    ("image/png", MediaDisplay::Inline),
    ("image/jpeg", MediaDisplay::Inline),
    ("image/jpg", MediaDisplay::Inline),
    ("image/webp", MediaDisplay::Inline),
    ("image/gif", MediaDisplay::Inline),
    ("image/svg+xml", MediaDisplay::AsFile),
    ("image/tiff", MediaDisplay::Inline),
    ("image/bmp", MediaDisplay::Inline),
    ("image/avif", MediaDisplay::Inline),
    ("image/heic", MediaDisplay::Inline),
    ("audio/mpeg", MediaDisplay::Inline),
    ("audio/mp3", MediaDisplay::Inline),
    ("audio/wav", MediaDisplay::Inline),
    ("audio/ogg", MediaDisplay::Inline),
    ("audio/oga", MediaDisplay::Inline),
    ("audio/aac", MediaDisplay::Inline),
    ("audio/mp4", MediaDisplay::Inline),
    ("audio/flac", MediaDisplay::Inline),
    ("audio/opus", MediaDisplay::Inline),
    ("audio/webm", MediaDisplay::Inline),
    ("video/mp4", MediaDisplay::Inline),
    ("video/webm", MediaDisplay::Inline),
    ("video/ogg", MediaDisplay::Inline),
    ("video/mpeg", MediaDisplay::Inline),
    ("video/quicktime", MediaDisplay::Inline),
    ("video/x-msvideo", MediaDisplay::Inline),
    ("video/x-matroska", MediaDisplay::Inline),
    ("text/plain", MediaDisplay::Inline),
    ("text/html", MediaDisplay::AsFile),
    ("text/css", MediaDisplay::AsFile),
    ("text/csv", MediaDisplay::AsFile),
    ("text/markdown", MediaDisplay::AsFile),
    ("text/x-python", MediaDisplay::AsFile),
    ("application/javascript", MediaDisplay::AsFile),
    ("text/x-typescript", MediaDisplay::AsFile),
    ("application/x-yaml", MediaDisplay::AsFile),
    ("application/pdf", MediaDisplay::AsFile),
    ("application/msword", MediaDisplay::AsFile),
    ("application/vnd.ms-excel", MediaDisplay::AsFile),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", MediaDisplay::AsFile),
    ("application/zip", MediaDisplay::AsFile),
    ("application/json", MediaDisplay::AsFile),
    ("application/xml", MediaDisplay::AsFile),
    ("application/octet-stream", MediaDisplay::AsFile),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        MediaDisplay::AsFile,
    ),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        MediaDisplay::AsFile,
    ),
    ("application/rtf", MediaDisplay::AsFile),
    ("application/x-ndjson", MediaDisplay::AsFile),
    ("application/vnd.apache.parquet", MediaDisplay::AsFile),
    ("application/gzip", MediaDisplay::AsFile),
    ("application/x-tar", MediaDisplay::AsFile),
    ("application/x-7z-compressed", MediaDisplay::AsFile),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_names_its_media_as_the_sdks_do() {
        // The SHA-256 of the empty string.
        let hash = MediaHash::parse("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=").unwrap();
        assert_eq!(hash.media_id(), "47DEQpj8HBSa-_TImW-5JC");
        assert!(hash.to_hex().starts_with("e3b0c44298fc1c14"));
        assert_eq!(MediaHash::parse(&hash.to_base64()), Ok(hash));
        assert_eq!(MediaHash::from_hex(&hash.to_hex()), Some(hash));
        assert_eq!(MediaHash::from_hex(&"+1".repeat(32)), None);
    }

    #[test]
    fn other_texts_are_no_hashes() {
        for text in ["", "abc", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuF==", "é"] {
            assert_eq!(MediaHash::parse(text), Err(MediaHashError), "{text}");
        }
    }

    #[test]
    fn media_with_scripts_is_never_shown_inline() {
        for name in ["text/html", "image/svg+xml", "application/javascript", "application/xml"] {
            let kind = MediaType::parse(name).unwrap();
            assert_eq!(
                (kind.shown(), kind.served_as()),
                (MediaDisplay::AsFile, "application/octet-stream")
            );
        }
        assert_eq!(MediaType::parse("IMAGE/PNG").unwrap().served_as(), "image/png");
        assert_eq!(MediaType::parse("text/x-shellscript"), None);
    }
}
