use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::chat::attachment::{Attachment, MAX_ATTACHMENTS, MAX_PDF_BYTES};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Texts, which become part of the system prompt.
    pub(crate) texts: Vec<Value>,
    /// Images and documents, which are sent with a message.
    pub(crate) others: Vec<Value>,
}

impl Files {
    pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Self> {
        if files.len() > MAX_ATTACHMENTS {
            bail!("{MAX_ATTACHMENTS} files can be attached at most");
        }
        let mut read = Self::default();
        for file in files {
            let (name, bytes) = bytes_of(file)?;
            let request = json!({"name": name, "data": STANDARD.encode(&bytes)});
            let is_text = Attachment::read(&name, bytes)?.block().is_none();
            if is_text { &mut read.texts } else { &mut read.others }.push(request);
        }
        Ok(read)
    }
}

fn bytes_of(file: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let about = || format!("cannot attach {}", file.display());
    let size = std::fs::metadata(file).with_context(about)?.len();
    if size > MAX_PDF_BYTES as u64 {
        bail!("{} has {size} bytes; nothing larger than {MAX_PDF_BYTES} is taken", file.display());
    }
    let bytes = std::fs::read(file).with_context(about)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    Ok((name.into_owned(), bytes))
}
