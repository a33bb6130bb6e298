//! Datasets, known again by name, with their items, known by id, and their runs, known by name.

use std::collections::BTreeMap;

use ratchet_remote::langfuse::client::{ClientError, LangfuseClient, Position};
use ratchet_remote::langfuse::wire::dataset::{
    CreateDataset, CreateDatasetItem, DatasetItemView, DatasetView,
};
use ratchet_remote::langfuse::wire::dataset_run::{
    CreateDatasetRunItem, DatasetRunItemView, DatasetRunView,
};
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::maybe::Maybe;

use super::keepsakes::{advance, all};
use super::{Checkpoint, CopyError, Progress, Refused, Route};

/// Copies a slice of datasets, each with the items it has now.
pub(super) async fn datasets(
    route: &Route<'_>,
    progress: &mut Progress,
    at: &Position,
) -> Result<(), CopyError> {
    let slice = route.from.datasets(at).await?;
    advance(progress, &slice);
    let Some(into) = route.into else {
        return Ok(());
    };
    let known = all(async |at| into.datasets(&at).await).await?;
    for theirs in &slice.rows {
        let ours = known.iter().find(|ours| ours.name == theirs.name);
        if ours.is_none_or(|ours| !is_same_dataset(ours, theirs)) {
            into.save_dataset(&new_dataset(theirs)).await?;
            progress.recorded += 1;
        }
        items(route.from, into, &theirs.name).await?;
    }
    Ok(())
}

async fn items(
    from: &LangfuseClient,
    into: &LangfuseClient,
    dataset: &str,
) -> Result<(), ClientError> {
    let ours = all(async |at| into.dataset_items(dataset, &at).await).await?;
    let ours: BTreeMap<&str, &DatasetItemView> =
        ours.iter().map(|item| (item.id.as_str(), item)).collect();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let mut slice = from.dataset_items(dataset, &at).await?;
        // Lists begin with the newest, and what is made first must be the oldest here, too.
        slice.rows.reverse();
        for theirs in &slice.rows {
            let is_there = ours.get(theirs.id.as_str()).is_some_and(|ours| is_same(ours, theirs));
            if !is_there {
                into.save_dataset_item(&new_item(theirs)).await?;
            }
        }
        next = slice.next;
    }
    Ok(())
}

/// Copies the runs of a slice of datasets, and notes the ids they have got. A server of the newer
/// era does not show them.
pub(super) async fn runs(
    route: &Route<'_>,
    checkpoint: &mut Checkpoint,
    progress: &mut Progress,
    at: &Position,
) -> Result<Vec<Refused>, CopyError> {
    let datasets = route.from.datasets(at).await?;
    progress.next = datasets.next.clone();
    let mut left_out = Vec::new();
    for dataset in &datasets.rows {
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let Some(slice) = route.from.dataset_runs(&dataset.name, &at).await? else { break };
            for theirs in &slice.rows {
                progress.read += 1;
                let Some(into) = route.into else { continue };
                match run(route.from, into, theirs).await {
                    Ok(Some(here)) => {
                        progress.recorded += 1;
                        checkpoint.dataset_runs.insert(theirs.id.clone(), here);
                    }
                    Ok(None) => {}
                    Err(error) if error.status().is_some_and(|status| status < 500) => {
                        let what = format!("run {} of {}", theirs.name, dataset.name);
                        left_out.push(Refused { what, why: error.to_string() });
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            next = slice.next;
        }
    }
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

/// Copies the items of a run that are not there yet, and returns the id of the run here.
async fn run(
    from: &LangfuseClient,
    into: &LangfuseClient,
    theirs: &DatasetRunView,
) -> Result<Option<String>, ClientError> {
    let (dataset, name) = (&theirs.dataset_name, &theirs.name);
    let Some(whole) = from.dataset_run(dataset, name).await? else {
        return Ok(None);
    };
    let ours = into.dataset_run(dataset, name).await?;
    let mut here = ours.as_ref().map(|ours| ours.run.id.clone());
    let mut known: Vec<DatasetRunItemView> =
        ours.map(|ours| ours.content.dataset_run_items).unwrap_or_default();
    for item in whole.content.dataset_run_items {
        // A run may try an item several times: each of ours stands for one of theirs.
        let twin = known.iter().position(|ours| is_same_try(ours, &item));
        if let Some(twin) = twin {
            known.swap_remove(twin);
            continue;
        }
        let made = into.create_dataset_run_item(&new_try(theirs, item)).await?;
        here = Some(made.dataset_run_id);
    }
    Ok(here)
}

fn is_same_try(ours: &DatasetRunItemView, theirs: &DatasetRunItemView) -> bool {
    (&ours.dataset_item_id, &ours.trace_id, &ours.observation_id)
        == (&theirs.dataset_item_id, &theirs.trace_id, &theirs.observation_id)
}

fn new_try(run: &DatasetRunView, item: DatasetRunItemView) -> CreateDatasetRunItem {
    CreateDatasetRunItem {
        run_name: run.name.clone(),
        run_description: run.description.clone(),
        metadata: run.metadata.clone(),
        dataset_item_id: item.dataset_item_id,
        observation_id: item.observation_id,
        trace_id: Some(item.trace_id),
        dataset_version: None,
        created_at: Some(item.created_at),
    }
}

fn new_dataset(theirs: &DatasetView) -> CreateDataset {
    let schema = |schema: &Option<Raw>| schema.clone().map_or(Maybe::Absent, Maybe::Value);
    CreateDataset {
        name: theirs.name.clone(),
        description: theirs.description.clone(),
        metadata: theirs.metadata.clone(),
        input_schema: schema(&theirs.input_schema),
        expected_output_schema: schema(&theirs.expected_output_schema),
    }
}

fn new_item(theirs: &DatasetItemView) -> CreateDatasetItem {
    CreateDatasetItem {
        dataset_name: theirs.dataset_name.clone(),
        input: theirs.input.clone(),
        expected_output: theirs.expected_output.clone(),
        metadata: theirs.metadata.clone(),
        source_trace_id: theirs.source_trace_id.clone(),
        source_observation_id: theirs.source_observation_id.clone(),
        id: Some(theirs.id.clone()),
        status: Some(theirs.status),
    }
}

fn is_same_dataset(ours: &DatasetView, theirs: &DatasetView) -> bool {
    ours.description == theirs.description
        && is_same_json(&ours.metadata, &theirs.metadata)
        && is_same_json(&ours.input_schema, &theirs.input_schema)
        && is_same_json(&ours.expected_output_schema, &theirs.expected_output_schema)
}

fn is_same(ours: &DatasetItemView, theirs: &DatasetItemView) -> bool {
    ours.status == theirs.status
        && ours.source_trace_id == theirs.source_trace_id
        && ours.source_observation_id == theirs.source_observation_id
        && is_same_json(&ours.input, &theirs.input)
        && is_same_json(&ours.expected_output, &theirs.expected_output)
        && is_same_json(&ours.metadata, &theirs.metadata)
}

/// Whether two texts hold the same JSON, however they are written; null is none.
fn is_same_json(ours: &Option<Raw>, theirs: &Option<Raw>) -> bool {
    let value = |raw: &Option<Raw>| {
        let text = raw.as_ref().map_or("null", |raw| raw.get());
        serde_json::from_str::<serde_json::Value>(text).ok()
    };
    value(ours) == value(theirs)
}
