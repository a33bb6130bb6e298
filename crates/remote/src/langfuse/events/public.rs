//! Scores that were sent with a public key alone. Their senders are anonymous, so
//! they are bounded in size and time, have separate ids, and have a lower precedence than all that was
//! sent with a secret key.

use crate::langfuse::wire::ingestion::ScoreBody;
use crate::langfuse::wire::maybe::Maybe;
use ratchet_core::issue::Issue;
use ratchet_core::record::clock_skew::Stamped;
use ratchet_core::record::field::Authority;
use ratchet_core::record::merge::Earliest;
use ratchet_core::record::score::public::PublicScore;
use ratchet_core::record::score::{ScorePatch, ScoreSource, ScoreValue};
use ratchet_core::time::Timestamp;

use super::{Saying, Submitter};

/// The most characters of a name, and of the label of a category.
const MAX_NAME_CHARS: usize = 200;
/// The most characters of a comment.
const MAX_COMMENT_CHARS: usize = 4_000;
/// The most bytes of metadata, as JSON.
const MAX_METADATA_BYTES: usize = 4_000;
/// How far back a score may say it was given: a page that was offline sends it later.
const MAX_AGE_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// A sender with a public key alone.
pub(super) struct PublicSender<'a> {
    project: &'a str,
    received_at: Timestamp,
}

impl Saying<'_> {
    /// The sender, if it holds a public key alone.
    pub(super) fn public_sender(&self) -> Option<PublicSender<'_>> {
        match &self.rules.submitter {
            Submitter::Keyed | Submitter::Recorder => None,
            Submitter::Public { project, received_at } => {
                Some(PublicSender { project, received_at: *received_at })
            }
        }
    }
}

impl PublicSender<'_> {
    /// Refuses what only programs with a whole key may say, and what is too long.
    pub(super) fn check(&self, body: &ScoreBody, source: ScoreSource) -> Result<(), Issue> {
        match source {
            ScoreSource::Api => {}
            ScoreSource::Eval | ScoreSource::Annotation => {
                let why = "a public key alone may only send scores whose source is API";
                return Err(Issue::at("source", why));
            }
        }
        let is_given = |text: &Maybe<String>| text.as_value().is_some_and(|text| !text.is_empty());
        for (field, given) in [("datasetRunId", &body.dataset_run_id), ("queueId", &body.queue_id)]
        {
            if is_given(given) {
                return Err(Issue::at(field, "needs public and secret key"));
            }
        }
        at_most("name", body.name.as_value(), MAX_NAME_CHARS)?;
        at_most("comment", body.comment.as_value(), MAX_COMMENT_CHARS)?;
        let metadata = body.metadata.as_value().map_or(0, |json| json.get().len());
        if metadata > MAX_METADATA_BYTES {
            let why = format!(
                "{metadata} bytes, with a public key alone at most {MAX_METADATA_BYTES} are taken"
            );
            return Err(Issue::at("metadata", why));
        }
        Ok(())
    }

    /// Gives a score the id, the time and the weight of a public one.
    pub(super) fn confine(&self, mut patch: ScorePatch) -> Result<ScorePatch, Issue> {
        match patch.value.value() {
            Some(ScoreValue::Categorical { label, .. }) => {
                at_most("value", Some(label), MAX_NAME_CHARS)?;
            }
            Some(ScoreValue::Correction(_)) => {
                return Err(Issue::at("dataType", "a CORRECTION needs public and secret key"));
            }
            // Texts are bounded for everyone.
            Some(ScoreValue::Numeric(_) | ScoreValue::Boolean(_) | ScoreValue::Text(_)) | None => {}
        }
        let (Some(target), Some(name)) = (patch.target.value(), patch.name.value()) else {
            return Err(Issue::at("traceId", "a score needs what it judges, and a name"));
        };
        let token = patch.id.to_string();
        let score = PublicScore { project: self.project, target, name, token: &token };
        patch.id = score.id().map_err(|why| Issue::at("id", why.to_string()))?;
        let oldest = self.received_at.plus_nanos(-MAX_AGE_NANOS);
        let given = patch.timestamp.0.map(|at| at.max(oldest).min(self.received_at));
        patch.timestamp = Earliest(given);
        patch.each_stamp(&mut |stamp| stamp.authority = Authority::Child);
        Ok(patch)
    }
}

fn at_most(field: &str, text: Option<&String>, max: usize) -> Result<(), Issue> {
    let chars = text.map_or(0, |text| text.chars().count());
    if chars <= max {
        return Ok(());
    }
    let why = format!("{chars} characters, with a public key alone at most {max} are taken");
    Err(Issue::at(field, why))
}
