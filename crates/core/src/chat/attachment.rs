//! What people hand to an agent: entities (Markdown with YAML at its head), other texts, images
//! and PDFs.
//!
//! What kind of thing a file is follows from its bytes. Its name is someone else's word.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::catalog::skill::{self, yaml};

/// How many things may be attached to one message or chat.
pub const MAX_ATTACHMENTS: usize = 20;
/// How many bytes a text may have.
pub const MAX_TEXT_BYTES: usize = 2_000_000;
/// How many bytes an image may have; model providers refuse larger ones.
pub const MAX_IMAGE_BYTES: usize = 5_000_000;
/// How many bytes a PDF may have.
pub const MAX_PDF_BYTES: usize = 14_000_000;

const MAX_NAME_BYTES: usize = 300;

/// Something that was handed to an agent. Made by [`Attachment::read`] alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    name: String,
    content: AttachedContent,
}

/// What it is.
#[derive(Clone, Debug, PartialEq)]
pub enum AttachedContent {
    /// Markdown with YAML at its head.
    Entity {
        /// The head, without its lines of dashes.
        front: String,
        body: String,
    },
    Text(String),
    Image {
        media_type: &'static str,
        bytes: Vec<u8>,
    },
    Pdf(Vec<u8>),
}

/// Why something cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    /// Nothing, too much, or not for people's eyes.
    #[error("an attachment needs a name of 1 to {MAX_NAME_BYTES} bytes without control characters")]
    Name,
    /// More than a model takes.
    #[error("{name} has {bytes} bytes; {kind} may have {most}")]
    TooLarge {
        name: String,
        /// How many bytes it has.
        bytes: usize,
        /// What kind of thing it is.
        kind: &'static str,
        /// How many bytes those may have.
        most: usize,
    },
    /// Neither text nor a picture nor a PDF.
    #[error("{0} is neither text in UTF-8 nor a PNG, JPEG, GIF, WebP or PDF file")]
    Unreadable(String),
}

impl Attachment {
    /// Reads a file as what its bytes say it is.
    ///
    /// # Errors
    /// It is too large, or of a kind that no model reads.
    ///
    /// ```
    /// use ratchet_core::chat::attachment::{AttachedContent, Attachment};
    ///
    /// let plan = Attachment::read("plan.md", b"---\ntitle: Plan\n---\nShip it.\n".to_vec())?;
    /// assert!(matches!(plan.content(), AttachedContent::Entity { .. }));
    /// # Ok::<(), ratchet_core::chat::attachment::AttachmentError>(())
    /// ```
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Self, AttachmentError> {
        let is_name = (1..=MAX_NAME_BYTES).contains(&name.len());
        if !is_name || name.contains(char::is_control) {
            return Err(AttachmentError::Name);
        }
        let within = |kind: &'static str, most: usize| match bytes.len() <= most {
            true => Ok(()),
            false => {
                let (name, bytes) = (name.to_owned(), bytes.len());
                Err(AttachmentError::TooLarge { name, bytes, kind, most })
            }
        };
        let content = if let Some(media_type) = image_type(&bytes) {
            within("an image", MAX_IMAGE_BYTES)?;
            AttachedContent::Image { media_type, bytes }
        } else if bytes.starts_with(b"%PDF-") {
            within("a PDF", MAX_PDF_BYTES)?;
            AttachedContent::Pdf(bytes)
        } else {
            within("a text", MAX_TEXT_BYTES)?;
            let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            text_content(text.ok_or_else(|| AttachmentError::Unreadable(name.to_owned()))?)
        };
        Ok(Self { name: name.to_owned(), content })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    pub fn content(&self) -> &AttachedContent {
        &self.content
    }

    /// The part of a user's message that shows it to a model, if it is not text.
    pub fn block(&self) -> Option<Value> {
        let (kind, media_type, bytes) = match &self.content {
            AttachedContent::Image { media_type, bytes } => ("image", *media_type, bytes),
            AttachedContent::Pdf(bytes) => ("document", "application/pdf", bytes),
            AttachedContent::Entity { .. } | AttachedContent::Text(_) => return None,
        };
        let data = STANDARD.encode(bytes);
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        Some(json!({"type": kind, "source": source}))
    }
}

/// A text, taken apart if it is an entity. A head that is no YAML is text like any other.
fn text_content(text: String) -> AttachedContent {
    let head = skill::split_front(&text).filter(|(front, _)| {
        let is_short = front.len() <= skill::MAX_FRONT_BYTES;
        is_short && matches!(yaml::read(front), Ok(Value::Object(_)))
    });
    match head {
        Some((front, body)) => AttachedContent::Entity { front, body: body.to_owned() },
        None => AttachedContent::Text(text),
    }
}

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(name: &str, bytes: &[u8]) -> Result<AttachedContent, AttachmentError> {
        Attachment::read(name, bytes.to_vec()).map(|attachment| attachment.content)
    }

    #[test]
    fn bytes_say_what_a_file_is_and_its_name_does_not() {
        let png = b"\x89PNG\r\n\x1a\n....";
        let image = AttachedContent::Image { media_type: "image/png", bytes: png.to_vec() };
        assert_eq!(read("notes.md", png), Ok(image));
        assert_eq!(read("x.png", b"%PDF-1.7"), Ok(AttachedContent::Pdf(b"%PDF-1.7".to_vec())));
        assert_eq!(read("x.pdf", b"words"), Ok(AttachedContent::Text("words".to_owned())));
    }

    #[test]
    fn markdown_with_a_head_is_an_entity() {
        let entity = AttachedContent::Entity {
            front: "title: Plan\nowner: Ada\n".to_owned(),
            body: "\n# Plan\n---\nmore".to_owned(),
        };
        let text = "---\r\ntitle: Plan\r\nowner: Ada\n---\n\n# Plan\n---\nmore";
        assert_eq!(read("plan.md", text.as_bytes()), Ok(entity));
    }

    #[test]
    fn a_head_that_is_no_yaml_is_text() {
        for text in ["---\n- a list\n---\nx", "---\na: &a x\nb: *a\n---\n", "---\nnever closed"] {
            let expected = AttachedContent::Text(text.to_owned());
            assert_eq!(read("a.md", text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_no_model_reads_is_refused() {
        let refused = |name: &str, bytes: &[u8]| read(name, bytes).unwrap_err().to_string();
        assert!(refused("a.exe", b"MZ\0\0").contains("a.exe is neither text"));
        assert!(refused("a.txt", b"\xff\xfe").contains("neither"));
        assert!(refused("", b"x").contains("needs a name"));
        assert!(refused("a\nb", b"x").contains("needs a name"));
        let long = vec![b'x'; MAX_TEXT_BYTES + 1];
        assert_eq!(refused("a.txt", &long), "a.txt has 2000001 bytes; a text may have 2000000");
    }

    #[test]
    fn pictures_and_pdfs_go_with_a_message() {
        let pdf = Attachment::read("a.pdf", b"%PDF-1".to_vec()).unwrap().block().unwrap();
        let expected = json!({"type": "document", "source":
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}});
        assert_eq!(pdf, expected);
        assert_eq!(Attachment::read("a.txt", b"x".to_vec()).unwrap().block(), None);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _read = read("a", &bytes);
        }

        #[test]
        fn an_entity_keeps_all_its_text(body in "[a-z\n-]{0,60}") {
            let text = format!("---\ntitle: x\n---\n{body}");
            let entity = AttachedContent::Entity { front: "title: x\n".to_owned(), body };
            prop_assert_eq!(read("a.md", text.as_bytes()), Ok(entity));
        }
    }
}
