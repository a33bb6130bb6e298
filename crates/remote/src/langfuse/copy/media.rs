//! The media that records refer to.

use std::collections::{BTreeMap, BTreeSet};

use crate::langfuse::client::{ClientError, LangfuseClient};
use crate::langfuse::wire::dataset::DatasetItemView;
use crate::langfuse::wire::ingestion::{Envelope, EventType};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::media::MediaRequest;
use ratchet_core::record::media::MediaHash;
use ratchet_core::record::media::reference::mentioned;
use sha2::{Digest, Sha256};

use super::Refused;

/// Copies media from one server to another, each once.
#[derive(Debug)]
pub(super) struct MediaCopy<'a> {
    from: &'a LangfuseClient,
    into: &'a LangfuseClient,
    seen: &'a mut BTreeSet<String>,
}

/// Where a piece of media is used.
#[derive(Clone, Debug, Default)]
struct Use {
    trace: Option<String>,
    observation: Option<String>,
    dataset: Option<String>,
    item: Option<String>,
    field: String,
}

impl<'a> MediaCopy<'a> {
    /// Copies what was not seen yet.
    pub(super) fn new(
        from: &'a LangfuseClient,
        into: &'a LangfuseClient,
        seen: &'a mut BTreeSet<String>,
    ) -> Self {
        Self { from, into, seen }
    }

    /// Copies the media that events mention, and says which it could not.
    ///
    /// # Errors
    /// Fails if a server cannot be asked; media that are not there, or are others than their ids
    /// say, are only left out.
    pub(super) async fn of_events(
        &mut self,
        events: impl Iterator<Item = &Envelope>,
    ) -> Result<Vec<Refused>, ClientError> {
        let mut left_out = Vec::new();
        for event in events {
            for (id, used) in uses_of(event) {
                left_out.extend(self.one(&id, used).await?);
            }
        }
        Ok(left_out)
    }

    /// The same for a dataset item, in a dataset that has this id at its new place.
    ///
    /// # Errors
    /// As above.
    pub(super) async fn of_item(
        &mut self,
        item: &DatasetItemView,
        dataset: &str,
    ) -> Result<Vec<Refused>, ClientError> {
        let fields = [
            ("input", &item.input),
            ("expectedOutput", &item.expected_output),
            ("metadata", &item.metadata),
        ];
        let mut left_out = Vec::new();
        for (field, sent) in fields {
            let text = sent.as_ref().map_or("", |json| json.get());
            for id in mentioned(text) {
                let used = Use {
                    dataset: Some(dataset.to_owned()),
                    item: Some(item.id.clone()),
                    field: field.to_owned(),
                    ..Use::default()
                };
                left_out.extend(self.one(id, used).await?);
            }
        }
        Ok(left_out)
    }

    async fn one(&mut self, id: &str, used: Use) -> Result<Option<Refused>, ClientError> {
        let is_new = self.seen.insert(id.to_owned());
        if !is_new || self.into.media(id).await?.is_some() {
            return Ok(None);
        }
        let refused = |why: String| Refused { what: format!("media {id}"), why };
        match self.fetch_and_send(id, used).await {
            Ok(problem) => Ok(problem.map(refused)),
            Err(error) if error.status().is_some_and(|status| status < 500) => {
                Ok(Some(refused(error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    /// Copies one piece, or says why it is none.
    async fn fetch_and_send(&self, id: &str, used: Use) -> Result<Option<String>, ClientError> {
        let Some(media) = self.from.media(id).await? else {
            return Ok(Some("the server does not have it".to_owned()));
        };
        let bytes = self.from.download(&media.url).await?;
        let hash = MediaHash::new(Sha256::digest(&bytes).into());
        if hash.media_id() != id {
            return Ok(Some("its content does not match its hash".to_owned()));
        }
        let announced = MediaRequest {
            trace_id: used.trace,
            observation_id: used.observation,
            dataset_id: used.dataset,
            dataset_item_id: used.item,
            content_type: media.content_type,
            content_length: bytes.len() as u64,
            sha256_hash: hash.to_base64(),
            field: used.field,
        };
        if let Some(url) = self.into.announce_media(&announced).await?.upload_url {
            self.into.upload(&url, &announced, bytes).await?;
        }
        Ok(None)
    }
}

/// The media that an event mentions, each with a place where it does.
fn uses_of(event: &Envelope) -> BTreeMap<String, Use> {
    let mut found = BTreeMap::new();
    let body = event.body.get();
    if mentioned(body).is_empty() {
        return found;
    }
    let fields: BTreeMap<String, Raw> = serde_json::from_str(body).unwrap_or_default();
    let text = |field: &str| {
        let json = fields.get(field)?;
        serde_json::from_str::<String>(json.get()).ok()
    };
    let (trace, observation) = match event.kind.0 {
        EventType::Trace => (text("id"), None),
        EventType::Observation(_, _) => (text("traceId"), text("id")),
        EventType::Score | EventType::SdkLog => return found,
    };
    for field in ["input", "output", "metadata"] {
        let text = fields.get(field).map_or("", |json| json.get());
        for id in mentioned(text) {
            let (trace, observation) = (trace.clone(), observation.clone());
            let field = field.to_owned();
            found.insert(id.to_owned(), Use { trace, observation, field, ..Use::default() });
        }
    }
    found
}
