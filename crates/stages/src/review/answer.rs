//! A reviewer's answer about a queue item: scores, dataset items, and the state of the item.

use ratchet_core::catalog::agent::review_datasets;
use ratchet_core::catalog::dataset::{DatasetStatus, check_name};
use ratchet_core::catalog::review::{
    CORRECTNESS, HELPFULNESS, JUDGE_ERROR, MAX_COMMENT, TOOL_USAGE, plausible_seconds,
};
use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, ScoreId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::Metadata;
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    Catalog, Collected, FieldUpdate, NewDataset, NewDatasetItem, NewReview, QueueId, Review,
    ReviewEffect, StoredScoreConfig,
};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{Store, StoreError};

use crate::record::scores::{self, ScoreWriteError};

/// Why an answer was not saved.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// A field is invalid; the message names it.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reviewed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    pub trace: TraceId,
    pub observation: Option<ObservationId>,
    pub environment: Environment,
}

/// What a reviewer says about a trace or an observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub is_correct: bool,
    /// From 0 to 1.
    pub helpfulness: Option<f64>,
    /// For each tool and sub-agent: its first observation, its name, and whether it was used
    /// correctly.
    pub tools: Vec<(ObservationId, String, bool)>,
    pub comment: Option<String>,
    /// Why the judge was wrong.
    pub judge_error: Option<String>,
    /// The case for the agent's datasets, if it is a good one.
    pub case: Option<NewCase>,
}

/// A case that is added to the datasets of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCase {
    pub agent: String,
    pub input: Option<Json>,
    pub expected_output: Option<Json>,
}

/// Who answers about which item, and how long it took.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Number of the reviewer's answer about this item: one that is sent twice counts once.
    pub attempt: u64,
    pub queue: QueueId,
    pub item: String,
    /// Id of the user, or a name where there are no users.
    pub reviewer: String,
    /// Id of the user, if there is one.
    pub author: Option<String>,
    pub seconds: u64,
}

impl Submission {
    pub(super) fn id(&self) -> String {
        format!("{}-{}-{}", self.item, self.reviewer, self.attempt)
    }
}

/// Saves an answer. The parts have ids derived from the submission's: an answer that was saved in
/// part is completed when it is sent again.
///
/// # Errors
/// Fails on an invalid answer, and if the item does not exist.
pub async fn submit(
    (store, catalog): (&Store, &Catalog),
    submission: Submission,
    (reviewed, answer): (&Reviewed, Answer),
    now: Timestamp,
) -> Result<ReviewEffect, AnswerError> {
    check(&answer)?;
    let project = submission.queue.project.clone();
    // Also refuses an item that is not there, before anything is written.
    catalog.queue_item(submission.queue.clone(), submission.item.clone()).await?;
    let id = submission.id();
    if catalog.is_review_saved(submission.queue.clone(), id).await? {
        return Ok(ReviewEffect::Repeated);
    }
    let configs = ReviewConfigs::ensure(catalog, &project, now).await?;
    let drafts = drafts(&submission, reviewed, (&answer, &configs), now)?;
    let scores = drafts.iter().map(|draft| draft.id.to_string()).collect();
    write_scores((&store.telemetry, catalog), project, drafts, now).await?;
    let dataset_items = match &answer.case {
        Some(case) => collect(catalog, &submission, reviewed, case, now).await?,
        None => Vec::new(),
    };
    let review = NewReview {
        is_correct: Some(answer.is_correct),
        judge_error: answer.judge_error,
        scores,
        dataset_items,
        ..blank(&submission)
    };
    Ok(catalog.save_review(submission.queue, review, now).await?)
}

pub(super) async fn write_scores(
    place: (&Telemetry, &Catalog),
    project: ProjectId,
    drafts: Vec<ScoreDraft>,
    now: Timestamp,
) -> Result<(), AnswerError> {
    scores::write(place, project, drafts, now).await.map_err(|error| match error {
        ScoreWriteError::Store(error) => error.into(),
        ScoreWriteError::Refused { why, .. } => AnswerError::Invalid(why.to_string()),
    })
}

/// Skips an item: it stays open for others.
///
/// # Errors
/// Fails if the item does not exist.
pub async fn skip(
    catalog: &Catalog,
    submission: Submission,
    now: Timestamp,
) -> Result<ReviewEffect, AnswerError> {
    let review = NewReview { is_skipped: true, ..blank(&submission) };
    Ok(catalog.save_review(submission.queue, review, now).await?)
}

/// Takes a reviewer's last answer in a queue back, with its scores and dataset items.
///
/// # Errors
/// Fails if its object was added to the queue again.
pub async fn undo(
    (store, catalog): (&Store, &Catalog),
    queue: QueueId,
    reviewer: String,
    now: Timestamp,
) -> Result<Option<Review>, AnswerError> {
    let project = queue.project.clone();
    let undone = catalog.undo_review(queue, reviewer, now).await?;
    for id in undone.iter().flat_map(|review| &review.scores) {
        let Ok(id) = ScoreId::parse(id) else { continue };
        store.telemetry.delete_score(project.clone(), id).await?;
    }
    for id in undone.iter().flat_map(|review| &review.dataset_items) {
        restore(catalog, &project, id, now).await?;
    }
    Ok(undone)
}

/// Takes the last change of a dataset item back: a label that replaced another one becomes that one
/// again, and a new item is deleted.
async fn restore(
    catalog: &Catalog,
    project: &ProjectId,
    id: &str,
    now: Timestamp,
) -> Result<(), AnswerError> {
    let versions = catalog.dataset_item_history(project.clone(), id.to_owned(), 2).await?;
    let mut versions = versions.into_iter();
    let (newest, before) = (versions.next(), versions.next());
    let Some(newest) = newest.filter(|version| version.valid_to.is_none()) else { return Ok(()) };
    // One that ended earlier was deleted in between.
    let replaced = before.filter(|before| before.valid_to == Some(newest.valid_from));
    let at = replaced.map(|before| before.valid_from);
    let replaced = match at {
        Some(_) => catalog.dataset_item(project.clone(), id.to_owned(), at).await?,
        None => None,
    };
    match replaced {
        Some(item) => {
            let earlier = NewDatasetItem {
                dataset_name: item.dataset_name,
                id: Some(item.id),
                status: Some(item.status),
                input: item.input,
                expected_output: item.expected_output,
                metadata: item.metadata,
                source_trace: item.source_trace,
                source_observation: item.source_observation,
            };
            catalog.save_dataset_item(project.clone(), earlier, now).await?;
        }
        None => match catalog.delete_dataset_item(project.clone(), id.to_owned(), now).await {
            Ok(_) | Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        },
    }
    Ok(())
}

pub(super) fn blank(submission: &Submission) -> NewReview {
    NewReview {
        id: submission.id(),
        item: submission.item.clone(),
        reviewer: submission.reviewer.clone(),
        is_skipped: false,
        is_correct: None,
        judge_error: None,
        seconds: plausible_seconds(submission.seconds),
        scores: Vec::new(),
        dataset_items: Vec::new(),
    }
}

fn check(answer: &Answer) -> Result<(), AnswerError> {
    for (field, text) in [("comment", &answer.comment), ("judge_error", &answer.judge_error)] {
        if text.as_ref().is_some_and(|text| text.chars().count() > MAX_COMMENT) {
            return Err(AnswerError::Invalid(format!("{field}: at most {MAX_COMMENT} characters")));
        }
    }
    if answer.helpfulness.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return Err(AnswerError::Invalid("helpfulness: from 0 to 1".to_owned()));
    }
    Ok(())
}

/// The score configs of reviews: annotations follow a config.
struct ReviewConfigs {
    correctness: String,
    helpfulness: String,
    tool_usage: String,
}

impl ReviewConfigs {
    /// Returns the ids of the project's configs, which are created if there are none.
    async fn ensure(
        catalog: &Catalog,
        project: &ProjectId,
        now: Timestamp,
    ) -> Result<Self, AnswerError> {
        let share = ConfigValues::Numeric { min: Some(0.0), max: Some(1.0) };
        Ok(Self {
            correctness: config(catalog, project, (CORRECTNESS, ConfigValues::Boolean), now)
                .await?,
            helpfulness: config(catalog, project, (HELPFULNESS, share), now).await?,
            tool_usage: config(catalog, project, (TOOL_USAGE, ConfigValues::Boolean), now).await?,
        })
    }
}

/// Returns the id of a config that takes numbers, by its name. A new one has an id that depends on
/// project and name only: two reviewers who need it at once create one.
pub(super) async fn config(
    catalog: &Catalog,
    project: &ProjectId,
    (name, values): (&str, ConfigValues),
    now: Timestamp,
) -> Result<String, AnswerError> {
    let settings = catalog.recording_settings(project).await?;
    let takes_numbers = |config: &&ScoreConfig| {
        matches!(config.values, ConfigValues::Boolean | ConfigValues::Numeric { .. })
    };
    let known = settings.score_configs.values().filter(takes_numbers);
    let mut known = known.filter(|config| config.name == name && !config.is_archived);
    if let Some(config) = known.next() {
        return Ok(config.id.clone());
    }
    let id = format!("{project}-review-{name}");
    let config = ScoreConfig { id, name: name.to_owned(), values, is_archived: false };
    let description = Some("given by reviewers of queues".to_owned());
    let new = StoredScoreConfig { config, description, created_at: now, updated_at: now };
    Ok(catalog.create_score_config(project.clone(), new).await?.config.id)
}

/// The scores of an answer, with ids that depend on the submission only.
fn drafts(
    submission: &Submission,
    reviewed: &Reviewed,
    (answer, configs): (&Answer, &ReviewConfigs),
    now: Timestamp,
) -> Result<Vec<ScoreDraft>, AnswerError> {
    let stamp = Stamp::stated(now, WriteKind::Create);
    let target = match &reviewed.observation {
        Some(observation) => ScoreTarget::Observation(reviewed.trace.clone(), observation.clone()),
        None => ScoreTarget::Trace(reviewed.trace.clone()),
    };
    let draft = |suffix: &str, config: &str, target: ScoreTarget, value: f64| {
        let id = ScoreId::parse(&format!("{}-{suffix}", submission.id()));
        let id = id.map_err(|why| AnswerError::Invalid(format!("attempt: {why}")))?;
        Ok::<_, AnswerError>(ScoreDraft {
            value: Some(SentValue::Number(value)),
            config: Field::new(config.to_owned(), stamp),
            environment: Field::new(reviewed.environment.clone(), stamp),
            author: Field::if_some(submission.author.clone(), stamp),
            queue: Field::new(submission.queue.queue.clone(), stamp),
            ..ScoreDraft::new(id, target, ScoreSource::Annotation, stamp)
        })
    };
    let yes = |is_so: bool| f64::from(u8::from(is_so));
    let correctness =
        draft(CORRECTNESS, &configs.correctness, target.clone(), yes(answer.is_correct))?;
    let mut drafts = vec![ScoreDraft {
        comment: Field::if_some(answer.comment.clone(), stamp),
        metadata: metadata(JUDGE_ERROR, answer.judge_error.as_deref(), stamp),
        ..correctness
    }];
    if let Some(value) = answer.helpfulness {
        drafts.push(draft(HELPFULNESS, &configs.helpfulness, target, value)?);
    }
    for (number, (observation, tool, is_right)) in answer.tools.iter().enumerate() {
        let target = ScoreTarget::Observation(reviewed.trace.clone(), observation.clone());
        let suffix = format!("{TOOL_USAGE}-{number}");
        let usage = draft(&suffix, &configs.tool_usage, target, yes(*is_right))?;
        drafts.push(ScoreDraft { metadata: metadata("tool", Some(tool), stamp), ..usage });
    }
    Ok(drafts)
}

pub(super) fn metadata(key: &str, text: Option<&str>, stamp: Stamp) -> Metadata {
    let value = text.map(|text| Json::from_value(&text.into()));
    Metadata::new(value.map(|value| (key.to_owned(), StampedValue { stamp, value: Some(value) })))
}

/// Adds a case to the agent's dataset of the month and to its global one: to both or to none.
pub(super) async fn collect(
    catalog: &Catalog,
    submission: &Submission,
    reviewed: &Reviewed,
    case: &NewCase,
    now: Timestamp,
) -> Result<Vec<String>, AnswerError> {
    let project = &submission.queue.project;
    let mut items = Vec::new();
    for dataset_name in review_datasets(&case.agent, now) {
        check_name(&dataset_name)
            .map_err(|why| AnswerError::Invalid(format!("dataset {dataset_name}: {why}")))?;
        if catalog.dataset(project.clone(), dataset_name.clone()).await?.is_none() {
            let new = NewDataset {
                name: dataset_name.clone(),
                description: Some("reviewed traces".to_owned()),
                metadata: None,
                input_schema: FieldUpdate::Keep,
                expected_output_schema: FieldUpdate::Keep,
            };
            catalog.save_dataset(project.clone(), new, now).await?;
        }
        items.push(NewDatasetItem {
            id: Some(format!("{}-{dataset_name}", submission.id())),
            dataset_name,
            status: Some(DatasetStatus::Active),
            input: case.input.clone(),
            expected_output: case.expected_output.clone(),
            metadata: None,
            source_trace: Some(reviewed.trace.to_string()),
            source_observation: reviewed.observation.as_ref().map(ToString::to_string),
        });
    }
    match catalog.save_dataset_items(project.clone(), items, now).await? {
        Collected::Kept(items) => Ok(items.into_iter().map(|item| item.id).collect()),
        Collected::Unfit(unfit) => {
            let why = unfit.into_iter().next().map(|(_, problem)| problem).unwrap_or_default();
            Err(AnswerError::Invalid(format!("expected_output: {why}")))
        }
    }
}
