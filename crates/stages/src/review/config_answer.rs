//! A reviewer's answer by the score configs of a queue.

use ratchet_core::catalog::review::{CORRECTNESS, MAX_COMMENT};
use ratchet_core::environment::Environment;
use ratchet_core::id::ScoreId;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::config::ConfigValues;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::catalog::{Catalog, NewReview, ReviewEffect, StoredScoreConfig};
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};

use super::answer::{AnswerError, NewCase, Reviewed, Submission, blank, collect, write_scores};
use super::own_scores;

/// Scores on the record that are looked through for the reviewer's own.
const READ: u64 = 200;

/// What a reviewer says of a record by the score configs of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigAnswer {
    pub target: ScoreTarget,
    pub environment: Environment,
    /// A value for each config that was filled in.
    pub values: Vec<(StoredScoreConfig, SentValue)>,
    pub comment: Option<String>,
    /// The case for the agent's datasets, if it is a good one.
    pub case: Option<(Reviewed, NewCase)>,
}

/// Saves an answer as a score for each config that was filled in. A score that the reviewer gave by
/// the same config before is replaced. An answer that was saved in part is completed when it is sent
/// again.
///
/// # Errors
/// Fails on a value that does not fit its config, on an answer without values, and if the item does
/// not exist.
pub async fn submit(
    (store, catalog): (&Store, &Catalog),
    submission: Submission,
    answer: ConfigAnswer,
    now: Timestamp,
) -> Result<ReviewEffect, AnswerError> {
    check(&answer)?;
    let project = submission.queue.project.clone();
    // Also refuses an item that is not there, before anything is written.
    catalog.queue_item(submission.queue.clone(), submission.item.clone()).await?;
    if catalog.is_review_saved(submission.queue.clone(), submission.id()).await? {
        return Ok(ReviewEffect::Repeated);
    }
    let known = ScoreQuery {
        project: project.clone(),
        range: TimeRange::default(),
        on: on(&answer.target),
        conditions: Vec::new(),
        paging: Paging::After { cursor: None, limit: READ },
    };
    let mut known = store.telemetry.scores(known).await?.rows;
    known.retain(|score| score.target == answer.target);
    let drafts = drafts(&submission, &answer, &known, now)?;
    let scores = drafts.iter().map(|draft| draft.id.to_string()).collect();
    write_scores((&store.telemetry, catalog), project, drafts, now).await?;
    let dataset_items = match &answer.case {
        Some((reviewed, case)) => collect(catalog, &submission, reviewed, case, now).await?,
        None => Vec::new(),
    };
    let is_correct = is_correct(&answer);
    let review = NewReview { is_correct, scores, dataset_items, ..blank(&submission) };
    Ok(catalog.save_review(submission.queue, review, now).await?)
}

fn on(target: &ScoreTarget) -> ScoresOn {
    match target {
        ScoreTarget::Trace(trace) => ScoresOn::Trace(trace.clone()),
        ScoreTarget::Observation(trace, step) => ScoresOn::Observation(trace.clone(), step.clone()),
        ScoreTarget::Session(session) => ScoresOn::Session(session.clone()),
        ScoreTarget::DatasetRun(run) => ScoresOn::DatasetRun(run.clone()),
    }
}

fn check(answer: &ConfigAnswer) -> Result<(), AnswerError> {
    if answer.values.is_empty() {
        return Err(AnswerError::Invalid("fill in at least one score".to_owned()));
    }
    if answer.comment.as_ref().is_some_and(|text| text.chars().count() > MAX_COMMENT) {
        return Err(AnswerError::Invalid(format!("comment: at most {MAX_COMMENT} characters")));
    }
    Ok(())
}

/// What agreement between reviewers is measured by: a boolean config named correctness.
fn is_correct(answer: &ConfigAnswer) -> Option<bool> {
    let is_correctness = |(config, _): &&(StoredScoreConfig, SentValue)| {
        config.config.name == CORRECTNESS && config.config.values == ConfigValues::Boolean
    };
    match answer.values.iter().find(is_correctness) {
        Some((_, SentValue::Number(number))) => Some(*number >= 0.5),
        Some((_, SentValue::Bool(yes))) => Some(*yes),
        Some((_, SentValue::Text(_))) | None => None,
    }
}

fn drafts(
    submission: &Submission,
    answer: &ConfigAnswer,
    known: &[Score],
    now: Timestamp,
) -> Result<Vec<ScoreDraft>, AnswerError> {
    let stamp = Stamp::stated(now, WriteKind::Create);
    let mut drafts = Vec::new();
    for (number, (config, value)) in answer.values.iter().enumerate() {
        let config = &config.config;
        // Where nobody signs in, browsers are distinguished, and scores do not name them.
        let author = submission.author.as_deref();
        let mut earlier =
            author.into_iter().flat_map(|me| own_scores::of(known, Some(me), &config.id));
        let id = match earlier.next() {
            Some(earlier) => earlier.id.clone(),
            None => ScoreId::parse(&format!("{}-config-{number}", submission.id()))
                .map_err(|why| AnswerError::Invalid(format!("attempt: {why}")))?,
        };
        let comment = answer.comment.clone();
        drafts.push(ScoreDraft {
            value: Some(value.clone()),
            config: Field::new(config.id.clone(), stamp),
            environment: Field::new(answer.environment.clone(), stamp),
            author: Field::if_some(submission.author.clone(), stamp),
            queue: Field::new(submission.queue.queue.clone(), stamp),
            comment: comment.map_or(Field::cleared(stamp), |text| Field::new(text, stamp)),
            ..ScoreDraft::new(id, answer.target.clone(), ScoreSource::Annotation, stamp)
        });
    }
    Ok(drafts)
}
