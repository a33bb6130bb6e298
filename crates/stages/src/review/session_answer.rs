//! A reviewer's label of a session: an item of the dataset of labels, scores on the session, and the
//! state of the queue item.

use std::collections::BTreeMap;

use ratchet_core::environment::Environment;
use ratchet_core::id::{ScoreId, SessionId};
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::label::annotation::LABEL;
use ratchet_core::quality::label::table::within;
use ratchet_core::quality::label::{Label, MAX_WHY, Mark};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{NewReview, ReviewEffect};

use super::ReviewError;
use super::answer::{AnswerError, Submission, blank, metadata, write_scores};
use super::labels;
use crate::score::write_scores::ScoreConfigs;
use crate::sink::{LocalSink, Sink, SinkError};
use crate::source::{Source, SourceError};

/// What a reviewer says about a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionAnswer {
    pub session: SessionId,
    /// The reviewer's name in labels.
    pub by: String,
    pub marks: BTreeMap<String, Mark>,
    pub why: Option<String>,
}

/// Saves a label. Its parts have ids that depend on reviewer, session and submission only: a label
/// that was saved in part is completed when it is sent again.
///
/// # Errors
/// Fails on a label without marks, and if the item does not exist.
pub async fn submit(
    local: &LocalSink,
    submission: Submission,
    (dataset, rubric): (&str, &Rubric),
    answer: SessionAnswer,
    now: Timestamp,
) -> Result<ReviewEffect, AnswerError> {
    check(&answer)?;
    let catalog = &local.catalog;
    // Also refuses an item that is not there, before anything is written.
    catalog.queue_item(submission.queue.clone(), submission.item.clone()).await?;
    if catalog.is_review_saved(submission.queue.clone(), submission.id()).await? {
        return Ok(ReviewEffect::Repeated);
    }
    let source = Source::Local(local.telemetry.clone(), local.project.clone());
    let sink = Sink::Local(local.clone());
    let drawn = labels::asked(&sink, dataset).await.map_err(ReviewError::from)?;
    let drawn = drawn.into_iter().rev().find(|(session, _)| *session == answer.session);
    let label = Label {
        session: answer.session.clone(),
        by: answer.by,
        at: now,
        why: answer.why.clone(),
        rubric: rubric.name.clone(),
        marks: answer.marks,
        drawn: drawn.map(|(_, origin)| origin),
        judged: None,
    };
    let place = (&source, &sink);
    let kept = labels::keep(place, (dataset, rubric), std::slice::from_ref(&label), now).await?;
    let configs = ScoreConfigs::settle(&sink, rubric, now).await.map_err(ReviewError::from)?;
    let session = local.telemetry.session(local.project.clone(), label.session.clone()).await?;
    let environment = session.map(|session| session.environment).unwrap_or_default();
    let drafts = drafts(&submission, (&label, &kept), (&configs, environment), now)?;
    let scores = drafts.iter().map(|draft| draft.id.to_string()).collect();
    write_scores((&local.telemetry, catalog), local.project.clone(), drafts, now).await?;
    let review = NewReview { scores, dataset_items: kept, ..blank(&submission) };
    Ok(catalog.save_review(submission.queue, review, now).await?)
}

fn check(answer: &SessionAnswer) -> Result<(), AnswerError> {
    if answer.marks.is_empty() {
        return Err(AnswerError::Invalid("label at least one dimension".to_owned()));
    }
    within("why", answer.why.as_deref().unwrap_or_default(), MAX_WHY).map_err(AnswerError::Invalid)
}

impl From<ReviewError> for AnswerError {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Labels(SinkError::Store(error))
            | ReviewError::Scores(SourceError::Store(error)) => Self::Store(error),
            error => Self::Invalid(error.to_string()),
        }
    }
}

/// A score for each dimension that was to be seen.
fn drafts(
    submission: &Submission,
    (label, item): (&Label, &[String]),
    (configs, environment): (&ScoreConfigs, Environment),
    now: Timestamp,
) -> Result<Vec<ScoreDraft>, AnswerError> {
    let stamp = Stamp::stated(now, WriteKind::Create);
    let item = item.first().map(String::as_str);
    let mut drafts = Vec::new();
    for (number, (dimension, mark)) in label.marks.iter().enumerate() {
        let value = match mark {
            Mark::Number(number) => SentValue::Number(*number),
            Mark::Grade(grade) => SentValue::Text(grade.clone()),
            Mark::NotObservable => continue,
        };
        let Some(config) = configs.id(dimension) else { continue };
        let id = ScoreId::parse(&format!("{}-{number}", submission.id()));
        let id = id.map_err(|why| AnswerError::Invalid(format!("attempt: {why}")))?;
        let target = ScoreTarget::Session(label.session.clone());
        drafts.push(ScoreDraft {
            value: Some(value),
            config: Field::new(config.to_owned(), stamp),
            environment: Field::new(environment.clone(), stamp),
            author: Field::if_some(submission.author.clone(), stamp),
            queue: Field::new(submission.queue.queue.clone(), stamp),
            comment: Field::if_some(label.why.clone().filter(|_| number == 0), stamp),
            metadata: metadata(LABEL, item, stamp),
            ..ScoreDraft::new(id, target, ScoreSource::Annotation, stamp)
        });
    }
    Ok(drafts)
}
