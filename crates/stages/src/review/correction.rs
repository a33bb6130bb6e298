//! A person's score of one output, where an evaluator was wrong: an annotation `correctness`, which
//! gates and calibration read (ADR 110).

use ratchet_core::catalog::review::{CORRECTNESS, MAX_COMMENT};
use ratchet_core::id::{ScoreId, TraceId};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::config::ConfigValues;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Catalog;
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreError};

use super::answer::{AnswerError, config, write_scores};

/// What a person says of an output.
#[derive(Clone, Debug)]
pub struct Correction {
    pub trace: TraceId,
    pub is_correct: bool,
    /// Why; an earlier reason is replaced.
    pub comment: Option<String>,
    /// Id of the user, or a name where there are no users.
    pub reviewer: String,
    /// Id of the user, if there is one.
    pub author: Option<String>,
}

/// Saves a correction; an earlier one of the same person for the same trace is changed.
///
/// # Errors
/// Fails on an invalid field, and without such a trace.
pub async fn correct(
    (store, catalog): (&Store, &Catalog),
    project: &ProjectId,
    correction: Correction,
    now: Timestamp,
) -> Result<(), AnswerError> {
    if correction.comment.as_ref().is_some_and(|text| text.chars().count() > MAX_COMMENT) {
        return Err(AnswerError::Invalid(format!("comment: at most {MAX_COMMENT} characters")));
    }
    let found = store.telemetry.trace(project.clone(), correction.trace.clone()).await?;
    let trace = found.ok_or_else(|| StoreError::NotFound("trace".to_owned()))?;
    let config = config(catalog, project, (CORRECTNESS, ConfigValues::Boolean), now).await?;
    let id = format!("correction-{}-{}", trace.id, correction.reviewer);
    let id = ScoreId::parse(&id).map_err(|why| AnswerError::Invalid(format!("trace: {why}")))?;
    let stamp = Stamp::stated(now, WriteKind::Update);
    let draft = ScoreDraft {
        value: Some(SentValue::Number(f64::from(u8::from(correction.is_correct)))),
        config: Field::new(config, stamp),
        environment: Field::new(trace.environment, stamp),
        author: Field::if_some(correction.author, stamp),
        comment: Field::new(correction.comment.unwrap_or_default(), stamp),
        ..ScoreDraft::new(id, ScoreTarget::Trace(trace.id), ScoreSource::Annotation, stamp)
    };
    write_scores((&store.telemetry, catalog), project.clone(), vec![draft], now).await
}
