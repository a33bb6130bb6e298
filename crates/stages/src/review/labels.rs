use ratchet_core::id::SessionId;
use ratchet_core::payload::Json;
use ratchet_core::quality::label::{Label, LabelItem, LabelOrigin, sample_dataset};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Change, NewDataset, NewDatasetItem};

use crate::sink::{Sink, SinkError, SinkResult, StoredItem};

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

/// Keeps what people say. A label that the same person gave the same session before is changed.
///
/// # Errors
/// Fails if one cannot be written; earlier ones remain.
pub async fn keep(sink: &Sink, dataset: &str, labels: &[Label], now: Timestamp) -> SinkResult<()> {
    for label in labels {
        save(sink, (dataset, LABELS), label.item(), now).await?;
    }
    Ok(())
}

/// Reads the samples of all weeks.
///
/// # Errors
/// Fails if the dataset cannot be read; one that is not there has none.
pub async fn asked(sink: &Sink, dataset: &str) -> SinkResult<Vec<(SessionId, LabelOrigin)>> {
    let items = sink.dataset_items(&sample_dataset(dataset)).await?;
    Ok(items.iter().filter_map(|item| LabelOrigin::of_item(&item.input, &item.metadata)).collect())
}

/// Saves a sample.
///
/// # Errors
/// Fails if it cannot be written.
pub(super) async fn ask(
    sink: &Sink,
    dataset: &str,
    drawn: &[(SessionId, LabelOrigin)],
    now: Timestamp,
) -> SinkResult<()> {
    let dataset = sample_dataset(dataset);
    for (session, draw) in drawn {
        save(sink, (&dataset, DRAWS), draw.item(session), now).await?;
    }
    Ok(())
}

/// Saves an item; the dataset is made with the first.
pub(super) async fn save(
    sink: &Sink,
    (dataset, description): (&str, &str),
    item: LabelItem,
    now: Timestamp,
) -> SinkResult<()> {
    let item = NewDatasetItem {
        dataset_name: dataset.to_owned(),
        id: Some(item.id),
        input: Some(Json::from_value(&item.input)),
        expected_output: item.expected_output.as_ref().map(Json::from_value),
        metadata: Some(Json::from_value(&item.metadata)),
        ..NewDatasetItem::default()
    };
    match sink.dataset_item(item.clone(), now).await {
        Err(why) if is_missing(&why) => {
            let new = NewDataset {
                name: dataset.to_owned(),
                description: Some(description.to_owned()),
                metadata: None,
                input_schema: Change::Keep,
                expected_output_schema: Change::Keep,
            };
            sink.dataset(new, now).await?;
            sink.dataset_item(item, now).await.map(drop)
        }
        saved => saved.map(drop),
    }
}

fn is_missing(why: &SinkError) -> bool {
    match why {
        SinkError::Store(StoreError::NotFound(_)) => true,
        SinkError::Client(why) => why.status() == Some(404),
        SinkError::Store(_) | SinkError::Refused { .. } | SinkError::Json(_) => false,
    }
}
