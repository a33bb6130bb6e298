//! One record's payloads as encoded in a block, and the two encodings of its metadata.

use std::collections::BTreeMap;

use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::Metadata;
use ratchet_core::record::trace::Content;
use ratchet_core::time::Timestamp;
use serde_json::value::RawValue;

use super::stamps::{authority_number, authority_of};

/// One record's payloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) input: Option<Payload>,
    pub(super) output: Option<Payload>,
    pub(super) metadata: EntryMetadata,
}

/// Encoded metadata: plain when all keys share a stamp, which is then stored with the row's.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum EntryMetadata {
    #[default]
    None,
    Plain(Vec<(String, Json)>),
    Stamped(Metadata),
}

impl EntryMetadata {
    pub(super) fn of(metadata: &Metadata) -> Self {
        if metadata.is_empty() {
            return Self::None;
        }
        if Self::shared_stamp(metadata).is_none() {
            return Self::Stamped(metadata.clone());
        }
        let keys = metadata.values().map(|(key, json)| (key.to_owned(), json.clone()));
        Self::Plain(keys.collect())
    }

    /// The common stamp of all keys, if there is one and no key was cleared. It is stored with the
    /// row.
    pub(super) fn shared_stamp(metadata: &Metadata) -> Option<Stamp> {
        let (_, first) = metadata.words().next()?;
        let mut words = metadata.words();
        let is_shared = words.all(|(_, said)| said.stamp == first.stamp && said.value.is_some());
        is_shared.then_some(first.stamp)
    }

    /// Decodes the metadata.
    pub(super) fn into_metadata(self, row_stamp: Option<Stamp>) -> Metadata {
        match (self, row_stamp) {
            (Self::None, _) | (Self::Plain(_), None) => Metadata::default(),
            (Self::Stamped(metadata), _) => metadata,
            (Self::Plain(keys), Some(stamp)) => Metadata::new(
                keys.into_iter()
                    .map(|(key, json)| (key, StampedValue { stamp, value: Some(json) })),
            ),
        }
    }

    pub(super) fn values(self) -> Vec<(String, Json)> {
        match self {
            Self::None => Vec::new(),
            Self::Plain(keys) => keys,
            Self::Stamped(metadata) => {
                metadata.values().map(|(key, json)| (key.to_owned(), json.clone())).collect()
            }
        }
    }

    pub(super) fn encode(&self) -> (u8, String) {
        match self {
            Self::None => (0, String::new()),
            Self::Plain(keys) => (1, write_object(keys)),
            Self::Stamped(metadata) => (2, write_stamped(metadata)),
        }
    }

    pub(super) fn decode(form: u8, text: &str) -> Self {
        match form {
            1 => Self::Plain(read_object(text)),
            2 => Self::Stamped(read_stamped(text)),
            _ => Self::None,
        }
    }
}

impl Entry {
    /// Whether there is nothing to store.
    pub(super) fn is_empty(&self) -> bool {
        self.input.is_none() && self.output.is_none() && self.metadata == EntryMetadata::None
    }

    /// Converts to the public type.
    pub(super) fn into_content(self) -> Content {
        Content { input: self.input, output: self.output, metadata: self.metadata.values() }
    }
}

fn write_object(keys: &[(String, Json)]) -> String {
    let mut text =
        String::with_capacity(keys.iter().map(|(k, v)| k.len() + v.as_str().len() + 4).sum());
    text.push('{');
    for (key, json) in keys {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(Json::from_value(&key.as_str().into()).as_str());
        text.push(':');
        text.push_str(json.as_str());
    }
    text.push('}');
    text
}

fn read_object(text: &str) -> Vec<(String, Json)> {
    let read: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(text);
    let keys = read.unwrap_or_default().into_iter();
    keys.map(|(key, raw)| (key, Json::from_raw(raw))).collect()
}

/// A key with its stamp: key, authority, time, act, whether it was cleared, and its value.
type StampedKey<Raw> = (String, u8, i64, u8, bool, Option<Raw>);

fn write_stamped(metadata: &Metadata) -> String {
    let keys: Vec<StampedKey<Box<RawValue>>> = metadata
        .words()
        .map(|(key, StampedValue { stamp, value })| {
            let raw = value.as_ref().map(|json| json.as_str().to_owned());
            let raw = raw.and_then(|text| RawValue::from_string(text).ok());
            let (authority, act) = (authority_number(stamp.authority), stamp.act as u8);
            (key.to_owned(), authority, stamp.at.nanos(), act, value.is_none(), raw)
        })
        .collect();
    serde_json::to_string(&keys).unwrap_or_default()
}

fn read_stamped(text: &str) -> Metadata {
    let keys: Vec<StampedKey<&RawValue>> = serde_json::from_str(text).unwrap_or_default();
    Metadata::new(keys.into_iter().map(|(key, authority, at, act, is_cleared, raw)| {
        let authority = authority_of(authority);
        let act = if act == 0 { WriteKind::Create } else { WriteKind::Update };
        let stamp = Stamp { authority, at: Timestamp::from_nanos(at), act };
        // A raw null reads as no value at all, which only "cleared" means.
        let json = raw.map_or_else(|| Json::from_value(&serde_json::Value::Null), Json::from_raw);
        (key, StampedValue { stamp, value: (!is_cleared).then_some(json) })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(at: i64, json: Option<&str>) -> StampedValue<Json> {
        let stamp = Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create);
        StampedValue { stamp, value: json.map(|text| Json::parse(text).unwrap()) }
    }

    #[track_caller]
    fn check(words: &[(&str, StampedValue<Json>)], expected_form: u8) {
        let metadata = Metadata::new(words.iter().map(|(k, said)| ((*k).to_owned(), said.clone())));
        let (kept, stamp) = (EntryMetadata::of(&metadata), EntryMetadata::shared_stamp(&metadata));
        let (form, text) = kept.encode();
        assert_eq!(form, expected_form);
        assert_eq!(EntryMetadata::decode(form, &text).into_metadata(stamp), metadata);
    }

    #[test]
    fn metadata_comes_back_with_its_stamps() {
        check(&[], 0);
        check(&[("a", said(1, Some("null"))), ("b\n", said(1, Some("{\"x\":[]}")))], 1);
        check(&[("a", said(1, Some("null"))), ("b", said(2, Some("2"))), ("c", said(2, None))], 2);
    }
}
