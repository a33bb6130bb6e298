//! References to media in a batch.

use std::collections::BTreeSet;

use ratchet_core::payload::Payload;
use ratchet_core::record::field::Field;
use ratchet_core::record::media::reference::mentioned;
use ratchet_core::record::merge::Metadata;
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::trace::TracePatch;

use super::Prepared;
use super::prepare::WritableBatch;
use crate::StoreResult;
use crate::catalog::{Catalog, ContentReference, MediaOwner, ReferenceLocation};

impl Catalog {
    /// Notes which media a batch references, before it is written: a sweep between the two would
    /// delete them. Does nothing for a batch that references none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn note_media_refs(&self, mut prepared: Prepared) -> StoreResult<WritableBatch> {
        let references = std::mem::take(&mut prepared.references);
        if !references.is_empty() {
            let (project, now) = (prepared.project.clone(), prepared.received_at);
            self.record_media_refs(project, references, now).await?;
        }
        Ok(WritableBatch::noted(prepared))
    }
}

/// The media references in some patches.
pub(super) fn of(
    traces: &[TracePatch],
    observations: &[ObservationPatch],
) -> Vec<ContentReference> {
    let mut found = Vec::new();
    for patch in traces {
        look([&patch.input, &patch.output], &patch.metadata, |field, media| {
            let owner = MediaOwner::Trace(patch.id.to_string());
            found.push(ContentReference {
                media,
                location: ReferenceLocation { owner, field: field.to_owned() },
            });
        });
    }
    for patch in observations {
        look([&patch.input, &patch.output], &patch.metadata, |field, media| {
            let observation = patch.id.to_string();
            // An observation without a trace waits in a trace with its own id.
            let trace =
                patch.trace.as_ref().map_or_else(|| observation.clone(), ToString::to_string);
            let owner = MediaOwner::Observation { trace, observation };
            found.push(ContentReference {
                media,
                location: ReferenceLocation { owner, field: field.to_owned() },
            });
        });
    }
    found
}

fn look(
    [input, output]: [&Field<Payload>; 2],
    metadata: &Metadata,
    mut note: impl FnMut(&str, String),
) {
    let texts = [("input", input), ("output", output)];
    let texts = texts.into_iter().filter_map(|(field, text)| Some((field, text.value()?.as_str())));
    let keys = metadata.values().map(|(_, json)| ("metadata", json.as_str()));
    for (field, text) in texts.chain(keys) {
        for media in mentioned(text).into_iter().collect::<BTreeSet<_>>() {
            note(field, media.to_owned());
        }
    }
}
