use std::borrow::Cow;
use std::collections::HashSet;

use ratchet_core::id::SessionId;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_remote::langfuse::client::Position;

use crate::source::{Source, SourceResult};

/// The longest text of a single input or output that is held: about half a million tokens, far
/// more than any judge is shown of one step.
const TEXT_BYTES: usize = 2_500_000;
/// All texts of a session together. Once they are there, further ones are held in brief: a judge
/// gets a million tokens at most, which is some four megabytes.
const SESSION_BYTES: usize = 24_000_000;
/// What is held in brief.
const BRIEF_BYTES: usize = 2_000;

/// Reads what a session shows, some traces at a time. However long the session is, no more than
/// some twenty megabytes are held.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn evidence(source: &Source, session: &SessionId) -> SourceResult<Evidence> {
    let mut traces: Vec<(Trace, Vec<Observation>)> = Vec::new();
    let mut seen = HashSet::new();
    let mut room = SESSION_BYTES;
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.whole_traces(session, &at).await?;
        for mut whole in slice.rows {
            // New traces push those we have read onto the next page, where they come again.
            if !seen.insert(whole.trace.id.clone()) {
                continue;
            }
            bound(&mut whole.trace.content, &mut room);
            for step in &mut whole.observations {
                bound(&mut step.content, &mut room);
            }
            traces.push((whole.trace, whole.observations));
        }
        next = slice.next;
    }
    Ok(Evidence::new(session.clone(), traces))
}

/// Bounds what is held of traces that were read whole.
pub(super) fn bound_all(traces: &mut [(Trace, Vec<Observation>)]) {
    let mut room = SESSION_BYTES;
    for (trace, steps) in traces {
        bound(&mut trace.content, &mut room);
        for step in steps {
            bound(&mut step.content, &mut room);
        }
    }
}

fn bound(content: &mut Option<Content>, room: &mut usize) {
    let Some(content) = content else { return };
    for payload in [&mut content.input, &mut content.output].into_iter().flatten() {
        let most = if *room == 0 { BRIEF_BYTES } else { TEXT_BYTES };
        if let Cow::Owned(short) = elide(payload.as_str(), most) {
            // What was JSON is none any more once its middle is missing.
            *payload = Payload::Text(short.into());
        }
        *room = room.saturating_sub(payload.as_str().len());
    }
    content.metadata.retain(|(_, value)| {
        *room = room.saturating_sub(value_bytes(value));
        value_bytes(value) <= TEXT_BYTES
    });
}

fn value_bytes(value: &Json) -> usize {
    value.as_str().len()
}
