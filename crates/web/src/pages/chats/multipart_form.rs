//! Forms that carry files, as a browser sends them, or without any.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use ratchet_core::chat::attachment::{Attachment, MAX_ATTACHMENTS};

use crate::multipart;
use crate::page_error::{PageError, PageResult};
use crate::request_context::Params;

/// Bytes of a form with all its files.
pub(super) const MAX_BYTES: usize = 24_000_000;

/// A form, and the files in it.
pub(super) struct SentForm {
    fields: Params,
    files: Vec<(String, Vec<u8>)>,
}

impl SentForm {
    /// Reads a form of at most [`MAX_BYTES`].
    pub(super) async fn read(headers: &HeaderMap, body: Body) -> PageResult<Self> {
        let length =
            headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > MAX_BYTES) {
            let most = MAX_BYTES / 1_000_000;
            return Err(PageError::Bad(format!("the files have more than {most} MB together")));
        }
        let content = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if content.and_then(multipart::boundary).is_none() {
            let form = to_bytes(body, MAX_BYTES).await?;
            let fields = Params::read(&String::from_utf8_lossy(&form));
            return Ok(Self { fields, files: Vec::new() });
        }
        let (form, boundary) = multipart::read(headers, body, MAX_BYTES).await?;
        Self::parts(&form, &boundary)
    }

    fn parts(form: &Bytes, boundary: &str) -> PageResult<Self> {
        let cut_off = || PageError::Bad("the form was cut off, or has too many files".to_owned());
        let parts = multipart::fields(form, boundary).ok_or_else(cut_off)?;
        let (mut pairs, mut files) = (Vec::new(), Vec::new());
        for part in parts {
            match part.file {
                // A field for files in which none was chosen.
                Some("") if part.content.is_empty() => {}
                Some(file) => files.push((file.replace("%22", "\""), part.content.to_vec())),
                None => pairs.push((part.name, String::from_utf8_lossy(part.content))),
            }
        }
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        Ok(Self { fields: Params::of(&pairs), files })
    }

    /// The fields that are no files.
    pub(super) fn fields(&self) -> &Params {
        &self.fields
    }

    /// A text, with line breaks as people mean them.
    pub(super) fn text(&self, name: &str) -> String {
        self.fields.get(name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// The files, each as what its bytes say it is; or why one cannot be attached.
    pub(super) fn files(&self) -> Result<Vec<Attachment>, String> {
        if self.files.len() > MAX_ATTACHMENTS {
            return Err(format!("{MAX_ATTACHMENTS} files at most can be attached at once"));
        }
        let read = |(name, bytes): &(String, Vec<u8>)| {
            Attachment::read(name, bytes.clone()).map_err(|why| format!("not attached: {why}"))
        };
        self.files.iter().map(read).collect()
    }
}
