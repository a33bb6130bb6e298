use crate::record::media::{MediaDisplay, MediaType};
use serde_json::{Map, Value};

use super::part::text_at;
use super::{ChatMessage, Part, Reading, RecordedResult};

/// The delimiters of media references in text.
const REFERENCE_TAGS: (&str, &str) = ("@@@langfuseMedia:", "@@@");

/// An image or another file in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture {
    /// In the payload itself, as base64.
    Inline {
        /// Declared content type.
        mime: String,
        /// Base64.
        data: String,
    },
    /// Uploaded separately and stored by Ratchet.
    Kept {
        /// Declared content type.
        mime: String,
        id: String,
    },
    /// An external URL: linked, never loaded.
    Elsewhere(String),
}

/// How a browser displays a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Picture,
    /// With an audio player.
    Sound,
    /// With a video player.
    Film,
}

impl Medium {
    /// Returns how a browser displays a content type, and the type to serve. `None` for types that
    /// could contain scripts.
    pub fn of(mime: &str) -> Option<(Self, MediaType)> {
        let name = mime.split(';').next().unwrap_or_default().trim();
        // OpenAI sends the audio format without `audio/`.
        let of_sound = || MediaType::parse(&format!("audio/{name}"));
        let kind = MediaType::parse(name).or_else(of_sound)?;
        let (medium, _) = kind.name().split_once('/')?;
        let medium = match medium {
            // Only one browser displays these.
            "image" if ["image/tiff", "image/heic"].contains(&kind.name()) => return None,
            "image" => Self::Picture,
            "audio" => Self::Sound,
            "video" => Self::Film,
            _ => return None,
        };
        (kind.shown() == MediaDisplay::Inline).then_some((medium, kind))
    }
}

/// Parses an object that contains an image, in any format.
pub(super) fn read(object: &Map<String, Value>) -> Option<Picture> {
    let inner = ["source", "image_url", "input_audio", "file", "image"]
        .iter()
        .find_map(|key| object.get(*key));
    match inner {
        Some(Value::Object(inner)) => return read(inner),
        Some(Value::String(address)) => return Some(address_of(address, object)),
        _ => {}
    }
    let address = ["url", "uri", "fileUri", "file_uri", "file_data", "file_url"];
    if let Some(address) = text_at(object, &address) {
        return Some(address_of(&address, object));
    }
    let data = text_at(object, &["data", "content", "bytes"])?;
    Some(address_of(&data, object))
}

/// Parses an image reference: a data URL, a URL, a media reference, or bare base64.
fn address_of(text: &str, object: &Map<String, Value>) -> Picture {
    if let Some((kind, data)) =
        text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
    {
        return Picture::Inline { mime: kind.to_owned(), data: data.to_owned() };
    }
    if let Some(reference) =
        text.strip_prefix(REFERENCE_TAGS.0).and_then(|rest| reference(rest.trim_end_matches('@')))
    {
        return reference;
    }
    if text.contains("://") {
        return Picture::Elsewhere(text.to_owned());
    }
    let mime = text_at(object, &["media_type", "mimeType", "mime_type", "mediaType", "format"]);
    Picture::Inline { mime: mime.unwrap_or_default(), data: text.to_owned() }
}

/// Splits a text at its media references.
pub(super) fn split(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(REFERENCE_TAGS.0) {
        let Some((inside, after)) = after.split_once(REFERENCE_TAGS.1) else { break };
        let Some(reference) = reference(inside) else { break };
        push_text(&mut parts, before);
        parts.push(Part::Picture(reference));
        rest = after;
    }
    push_text(&mut parts, rest);
    parts
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Text(text.to_owned()));
    }
}

/// Parses `type=image/png|id=…|source=…`.
fn reference(inside: &str) -> Option<Picture> {
    let field =
        |name: &str| inside.split('|').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let (mime, id) = (field("type")?.to_owned(), field("id")?.to_owned());
    Some(Picture::Kept { mime, id })
}

/// Returns every image of a payload, in display order.
pub fn pictures(reading: &Reading) -> Vec<&Picture> {
    let mut found = Vec::new();
    if let Reading::Messages(messages) = reading {
        for ChatMessage { parts, .. } in messages {
            gather(parts, &mut found);
        }
    }
    found
}

fn gather<'a>(parts: &'a [Part], found: &mut Vec<&'a Picture>) {
    for part in parts {
        match part {
            Part::Picture(picture) => found.push(picture),
            Part::Call(call) => {
                if let Some(RecordedResult { parts, .. }) = &call.result {
                    gather(parts, found);
                }
            }
            Part::Result(result) => gather(&result.parts, found),
            Part::Text(_) | Part::Thinking(_) | Part::Data(_) => {}
        }
    }
}
