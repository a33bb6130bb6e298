use crate::langfuse::wire::ingestion::TraceBody;
use ratchet_core::issue::Issue;
use ratchet_core::record::field::Field;
use ratchet_core::record::merge::Earliest;
use ratchet_core::record::trace::TracePatch;

use super::Saying;

/// The most characters a trace's name may have.
const MAX_NAME_CHARS: usize = 1_000;

/// What an event says about a trace.
pub(super) fn patch(body: TraceBody, saying: &Saying<'_>) -> Result<TracePatch, Issue> {
    let name_chars = body.name.as_value().map_or(0, |name| name.chars().count());
    if name_chars > MAX_NAME_CHARS {
        let message = format!("at most {MAX_NAME_CHARS} characters, this has {name_chars}");
        return Err(Issue::at("name", message));
    }
    let timestamp = body.timestamp.value().map_or(saying.stamp.at, |time| time.0);
    let metadata = saying.metadata(body.metadata);
    Ok(TracePatch {
        id: saying.id(&body.id)?,
        timestamp: Earliest(Some(timestamp)),
        name: saying.text(body.name),
        user: saying.label(body.user_id),
        session: saying.reference("sessionId", body.session_id)?,
        release: saying.text(body.release),
        version: saying.text(body.version),
        environment: saying.environment(body.environment),
        agent: saying.agent(&metadata),
        tags: saying.tags(body.tags),
        public: saying.field(body.public),
        bookmarked: saying.field(body.bookmarked),
        metadata,
        input: saying.payload(body.input),
        output: saying.payload(body.output),
        root: Field::unset(),
    })
}
