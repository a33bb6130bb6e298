use std::collections::BTreeSet;

use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::payload::Json;
use ratchet_core::quality::label::{
    DATASET, JudgedBefore, Label, LabelItem, LabelOrigin, annotation, sample_dataset,
};
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::ScoreFilter;
use ratchet_store::StoreError;
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem};

use super::ReviewError;
use super::judge_scores::{self, JudgeScore};
use crate::score::attach::session_of;
use crate::sink::{Sink, SinkError, SinkResult, StoredItem};
use crate::source::Source;

/// What the dataset of labels is for.
const LABELS: &str = "What people say of sessions: the ground truth that the judge is held against";
/// What the dataset of draws is for.
const DRAWS: &str = "Sessions that people are asked to label, drawn by rule week by week";

/// Reads human labels, sorted by session and name. Items of other kinds are
/// passed over.
///
/// # Errors
/// Fails if the dataset cannot be read; one that is not there has no labels.
pub async fn read(sink: &Sink, dataset: &str) -> SinkResult<Vec<Label>> {
    let items = sink.dataset_items(dataset).await?;
    let read = |item: &StoredItem| Label::read(&item.input, &item.expected_output, &item.metadata);
    let mut labels: Vec<Label> = items.iter().filter_map(read).collect();
    // Not by time: a server that was sent many at once may give them back in any order.
    labels.sort_by(|one, other| (&one.session, &one.by).cmp(&(&other.session, &other.by)));
    Ok(labels)
}

/// Reads the labels that calibration counts: those of the dataset and, beside the default one,
/// annotation scores on sessions, which count as chosen.
///
/// # Errors
/// Fails if the dataset or scores cannot be read.
pub async fn all(
    (source, sink): (&Source, &Sink),
    (dataset, rubric): (&str, &Rubric),
) -> Result<Vec<Label>, ReviewError> {
    let mut labels = read(sink, dataset).await?;
    labels.retain(|label| label.is_by(rubric));
    if dataset != DATASET {
        return Ok(labels);
    }
    let annotations =
        ScoreFilter { source: Some(ScoreSource::Annotation), ..ScoreFilter::default() };
    let scores = source.all_scores(&annotations).await?;
    let on_sessions = scores.iter().filter_map(|score| Some((session_of(score)?, score)));
    let known: BTreeSet<_> =
        labels.iter().map(|label| (label.session.clone(), label.by.clone())).collect();
    let given = annotation::labels(on_sessions, rubric).into_iter();
    labels.extend(given.filter(|it| !known.contains(&(it.session.clone(), it.by.clone()))));
    Ok(labels)
}

/// Keeps what people say, with what the judge has said by then, and returns the ids of the items. A
/// label that the same person gave the same session before is changed.
///
/// # Errors
/// Fails if scores cannot be read, or if one cannot be written; earlier ones remain.
pub async fn keep(
    (source, sink): (&Source, &Sink),
    (dataset, rubric): (&str, &Rubric),
    labels: &[Label],
    now: Timestamp,
) -> Result<Vec<String>, ReviewError> {
    let mut ids = Vec::new();
    for label in labels {
        let verdicts = judge_scores::verdicts(source, &label.session, rubric).await?;
        let judged = verdicts.into_iter().next_back().map(JudgedBefore::from);
        let label = Label { judged: judged.or_else(|| label.judged.clone()), ..label.clone() };
        let item = label.item(dataset);
        ids.push(item.id.clone());
        save(sink, (dataset, LABELS), item, now).await?;
    }
    Ok(ids)
}

impl From<JudgeScore> for JudgedBefore {
    fn from(score: JudgeScore) -> Self {
        let JudgeScore { marks, judge, version, generation, .. } = score;
        Self { judge, rubric_version: version, generation, marks }
    }
}

/// Reads the samples of all weeks.
///
/// # Errors
/// Fails if the dataset cannot be read; one that is not there has none.
pub async fn asked(sink: &Sink, dataset: &str) -> SinkResult<Vec<(SessionId, LabelOrigin)>> {
    let items = sink.dataset_items(&sample_dataset(dataset)).await?;
    Ok(items.iter().filter_map(|item| LabelOrigin::of_item(&item.input, &item.metadata)).collect())
}

/// Saves a sample, all of it or nothing where the sink can.
///
/// # Errors
/// Fails if it cannot be written.
pub(super) async fn ask(
    sink: &Sink,
    dataset: &str,
    drawn: &[(SessionId, LabelOrigin)],
    now: Timestamp,
) -> SinkResult<()> {
    if drawn.is_empty() {
        return Ok(());
    }
    let name = sample_dataset(dataset);
    let items = drawn.iter().map(|(session, draw)| item(&name, draw.item(session, dataset)));
    sink.dataset(new_dataset(&name, DRAWS), now).await?;
    sink.save_dataset_items(items.collect(), now).await
}

/// Saves an item; the dataset is made with the first.
pub(super) async fn save(
    sink: &Sink,
    (dataset, description): (&str, &str),
    item: LabelItem,
    now: Timestamp,
) -> SinkResult<()> {
    let item = self::item(dataset, item);
    match sink.dataset_item(item.clone(), now).await {
        Err(why) if is_missing(&why) => {
            sink.dataset(new_dataset(dataset, description), now).await?;
            sink.dataset_item(item, now).await.map(drop)
        }
        saved => saved.map(drop),
    }
}

fn item(dataset: &str, item: LabelItem) -> NewDatasetItem {
    NewDatasetItem {
        dataset_name: dataset.to_owned(),
        id: Some(item.id),
        input: Some(Json::from_value(&item.input)),
        expected_output: item.expected_output.as_ref().map(Json::from_value),
        metadata: Some(Json::from_value(&item.metadata)),
        ..NewDatasetItem::default()
    }
}

fn new_dataset(name: &str, description: &str) -> NewDataset {
    NewDataset {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    }
}

fn is_missing(why: &SinkError) -> bool {
    match why {
        SinkError::Store(StoreError::NotFound(_)) => true,
        SinkError::Client(why) => why.status() == Some(404),
        SinkError::Store(_) | SinkError::Refused { .. } | SinkError::Json(_) => false,
    }
}
