//! Datasets, known again by name, with their items, known by id, and their runs, known by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::langfuse::client::{ClientError, LangfuseClient, Position};
use crate::langfuse::wire::dataset::{
    CreateDataset, CreateDatasetItem, DatasetItemView, DatasetView,
};
use crate::langfuse::wire::dataset_run::{
    CreateDatasetRunItem, DatasetRunItemView, DatasetRunView,
};
use crate::langfuse::wire::experiment::ExperimentItemView;
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::wire_name::WireName;
use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::time::Timestamp;

use super::catalog::{advance, all, refused};
use super::media::MediaCopy;
use super::{Checkpoint, CopyError, PartProgress, Refused, Route};

/// Copies a slice of datasets, each with the items it has now, and returns the media that were
/// left out.
pub(super) async fn datasets(
    route: &Route<'_>,
    progress: &mut PartProgress,
    at: &Position,
    media: &mut BTreeSet<String>,
) -> Result<Vec<Refused>, CopyError> {
    let slice = route.from.datasets(at).await?;
    advance(progress, &slice);
    let mut left_out = Vec::new();
    let Some(into) = route.into else {
        return Ok(left_out);
    };
    let known = all(async |at| into.datasets(&at).await).await?;
    for theirs in &slice.rows {
        let ours = known.iter().find(|ours| ours.name == theirs.name);
        let here = match ours.filter(|ours| is_same_dataset(ours, theirs)) {
            Some(ours) => ours.id.clone(),
            None => {
                progress.recorded += 1;
                into.save_dataset(&new_dataset(theirs)).await?.id
            }
        };
        let mut media = MediaCopy::new(route.from, into, media);
        left_out.extend(items(route.from, into, (&theirs.name, &here), &mut media).await?);
    }
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

async fn items(
    from: &LangfuseClient,
    into: &LangfuseClient,
    (dataset, here): (&str, &str),
    media: &mut MediaCopy<'_>,
) -> Result<Vec<Refused>, ClientError> {
    let ours = all(async |at| into.dataset_items(dataset, &at).await).await?;
    let ours: BTreeMap<&str, &DatasetItemView> =
        ours.iter().map(|item| (item.id.as_str(), item)).collect();
    let mut left_out = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let mut slice = from.dataset_items(dataset, &at).await?;
        // Lists begin with the newest, and what is made first must be the oldest here, too.
        slice.rows.reverse();
        for theirs in &slice.rows {
            let is_there = ours.get(theirs.id.as_str()).is_some_and(|ours| is_same(ours, theirs));
            if !is_there {
                left_out.extend(media.of_item(theirs, here).await?);
                if let Err(error) = into.save_dataset_item(&new_item(theirs)).await {
                    left_out.push(refused(format!("dataset item {}", theirs.id), error)?);
                }
            }
        }
        next = slice.next;
    }
    Ok(left_out)
}

/// Copies the runs of a slice of datasets, and notes the ids they have got.
pub(super) async fn runs(
    route: &Route<'_>,
    checkpoint: &mut Checkpoint,
    progress: &mut PartProgress,
    at: &Position,
) -> Result<Vec<Refused>, CopyError> {
    let datasets = route.from.datasets(at).await?;
    progress.next = datasets.next.clone();
    let mut left_out = Vec::new();
    for dataset in &datasets.rows {
        for theirs in runs_of(route.from, dataset).await? {
            progress.read += 1;
            let Some(into) = route.into else { continue };
            let what = format!("run {} of {}", theirs.name, dataset.name);
            match run(route.from, into, &theirs).await {
                Ok(Some(here)) => {
                    progress.recorded += 1;
                    checkpoint.dataset_runs.insert(theirs.id.clone(), here);
                }
                Ok(None) => {}
                Err(error) if error.status().is_some_and(|status| status < 500) => {
                    left_out.push(Refused { what, why: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

/// Returns the traces of dataset runs that began since a moment.
///
/// # Errors
/// Fails if a request fails.
pub async fn traces_of_runs(
    from: &LangfuseClient,
    since: Timestamp,
) -> Result<BTreeSet<String>, ClientError> {
    let mut traces = BTreeSet::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = from.datasets(&at).await?;
        for dataset in &slice.rows {
            for run in runs_of(from, dataset).await? {
                if run.created_at.0 >= since {
                    traces.extend(traces_of_run(from, &run).await?);
                }
            }
        }
        next = slice.next;
    }
    Ok(traces)
}

/// The traces of a run; none if it is gone meanwhile. Without closures, so that servers can call it
/// from any thread.
async fn traces_of_run(
    from: &LangfuseClient,
    run: &DatasetRunView,
) -> Result<Vec<String>, ClientError> {
    if let Some(whole) = from.dataset_run(&run.dataset_name, &run.name).await? {
        let items = whole.content.dataset_run_items.into_iter();
        return Ok(items.map(|item| item.trace_id).collect());
    }
    let mut traces = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = match from.experiment_items(&run.id, &at).await {
            Ok(slice) => slice,
            Err(error) if error.status() == Some(404) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        traces.extend(slice.rows.into_iter().map(|item| item.trace_id));
        next = slice.next;
    }
    Ok(traces)
}

/// The runs over a dataset. Servers of the newer era show them as experiments only.
async fn runs_of(
    from: &LangfuseClient,
    dataset: &DatasetView,
) -> Result<Vec<DatasetRunView>, ClientError> {
    let mut runs = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let Some(slice) = from.dataset_runs(&dataset.name, &at).await? else {
            return experiments_of(from, dataset).await;
        };
        runs.extend(slice.rows);
        next = slice.next;
    }
    Ok(runs)
}

async fn experiments_of(
    from: &LangfuseClient,
    dataset: &DatasetView,
) -> Result<Vec<DatasetRunView>, ClientError> {
    let mut runs = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let Some(slice) = from.experiments(&dataset.id, &at).await? else { break };
        runs.extend(slice.rows.into_iter().map(|experiment| DatasetRunView {
            id: experiment.id,
            name: experiment.name,
            description: experiment.description,
            metadata: experiment.metadata.value(),
            dataset_id: dataset.id.clone(),
            dataset_name: dataset.name.clone(),
            created_at: experiment.start_time,
            updated_at: experiment.end_time,
        }));
        next = slice.next;
    }
    Ok(runs)
}

/// The tries of a run; `None` if it is gone meanwhile.
async fn tries_of(
    from: &LangfuseClient,
    run: &DatasetRunView,
) -> Result<Option<Vec<DatasetRunItemView>>, ClientError> {
    if let Some(whole) = from.dataset_run(&run.dataset_name, &run.name).await? {
        return Ok(Some(whole.content.dataset_run_items));
    }
    let items = all(async |at| from.experiment_items(&run.id, &at).await).await;
    match items {
        Ok(items) => Ok(Some(items.into_iter().map(as_try).collect())),
        Err(error) if error.status() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}

fn as_try(item: ExperimentItemView) -> DatasetRunItemView {
    // It is called by the step that tried it, or by its trace if no step is known.
    let is_step = item.id != item.trace_id;
    DatasetRunItemView {
        observation_id: is_step.then(|| item.id.clone()),
        id: item.id,
        dataset_run_id: item.experiment_id,
        dataset_run_name: item.experiment_name,
        dataset_item_id: item.experiment_item_id,
        trace_id: item.trace_id,
        created_at: item.start_time,
        updated_at: item.start_time,
    }
}

/// Copies the items of a run that are not there yet, and returns the id of the run here.
async fn run(
    from: &LangfuseClient,
    into: &LangfuseClient,
    theirs: &DatasetRunView,
) -> Result<Option<String>, ClientError> {
    let (dataset, name) = (&theirs.dataset_name, &theirs.name);
    let Some(mut tries) = tries_of(from, theirs).await? else {
        return Ok(None);
    };
    // The oldest first: lists begin with the newest.
    tries.reverse();
    let ours = into.dataset_run(dataset, name).await?;
    let mut here = ours.as_ref().map(|ours| ours.run.id.clone());
    let mut known: Vec<DatasetRunItemView> =
        ours.map(|ours| ours.content.dataset_run_items).unwrap_or_default();
    for item in tries {
        // A run may try an item several times: each of ours stands for one of theirs.
        let twin = known.iter().position(|ours| is_same_try(ours, &item));
        if let Some(twin) = twin {
            known.swap_remove(twin);
            continue;
        }
        here = Some(make_try(from, into, &new_try(theirs, item)).await?);
    }
    Ok(here)
}

/// Puts a try into its run and returns the run's id. Lists leave out items that are archived; one
/// that was tried is copied by its id.
async fn make_try(
    from: &LangfuseClient,
    into: &LangfuseClient,
    new: &CreateDatasetRunItem,
) -> Result<String, ClientError> {
    let refused = match into.create_dataset_run_item(new).await {
        Ok(made) => return Ok(made.dataset_run_id),
        Err(error) if error.status() == Some(404) => error,
        Err(error) => return Err(error),
    };
    let Some(archived) = from.dataset_item(&new.dataset_item_id).await? else {
        return Err(refused);
    };
    // Only an item that is not archived yet can be tried.
    let active = Some(WireName(DatasetStatus::Active));
    into.save_dataset_item(&CreateDatasetItem { status: active, ..new_item(&archived) }).await?;
    let made = into.create_dataset_run_item(new).await?;
    into.save_dataset_item(&new_item(&archived)).await?;
    Ok(made.dataset_run_id)
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
