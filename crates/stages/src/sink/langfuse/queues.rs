//! Annotation queues and datasets of a Langfuse server, as reviews need them.

use std::collections::BTreeSet;

use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::id::TraceId;
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{LangfuseClient, Position, TimeWindow};
use ratchet_remote::langfuse::copy;
use ratchet_remote::langfuse::wire::queue::{QueueItemRequest, QueueRequest};
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::catalog::SourcedItem;
use ratchet_store::review_signals::CORRECTNESS;

use super::{score_config, score_configs};
use crate::sink::SinkResult;

/// How long a dataset run takes at most.
const RUN_NANOS: i64 = 28 * 24 * 60 * 60 * 1_000_000_000;

/// Returns the id of the queue of a name; creates it, with the score that its items are answered
/// with.
pub(crate) async fn ensure_queue(
    client: &LangfuseClient,
    name: &str,
    description: &str,
) -> SinkResult<String> {
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = client.queues(&at).await?;
        if let Some(known) = slice.rows.into_iter().find(|queue| queue.name == name) {
            return Ok(known.id);
        }
        next = slice.next;
    }
    let configs = score_configs(client).await?;
    let is_asked = |config: &&ScoreConfig| config.name == CORRECTNESS && !config.is_archived;
    let config = match configs.iter().find(is_asked) {
        Some(known) => known.id.clone(),
        None => {
            let new = ScoreConfig {
                id: String::new(),
                name: CORRECTNESS.to_owned(),
                values: ConfigValues::Boolean,
                is_archived: false,
            };
            score_config(client, &new).await?
        }
    };
    let new = QueueRequest {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        score_config_ids: vec![config],
    };
    Ok(client.create_queue(&new).await?.id)
}

/// Returns the address of a queue's page.
pub(crate) async fn page(client: &LangfuseClient, queue: &str) -> SinkResult<String> {
    let project = client.project_id().await?;
    let base = client.base().trim_end_matches('/');
    Ok(format!("{base}/project/{project}/annotation-queues/{queue}"))
}

/// Adds traces to a queue, each once; returns how many were added. Interrupted, it continues where
/// it stopped.
pub(crate) async fn queue_traces(
    client: &LangfuseClient,
    queue: &str,
    traces: impl Iterator<Item = &str>,
) -> SinkResult<usize> {
    let mut queued = BTreeSet::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = client.queue_items(queue, &at).await?;
        queued.extend(slice.rows.into_iter().map(|item| item.object_id));
        next = slice.next;
    }
    let mut added = 0;
    for trace in traces.filter(|trace| !queued.contains(*trace)) {
        let new = QueueItemRequest {
            object_id: trace.to_owned(),
            object_type: WireName(ItemKind::Trace),
            status: None,
        };
        client.create_queue_item(queue, &new).await?;
        added += 1;
    }
    Ok(added)
}

/// Returns the traces of a time that are runs of dataset items. A run is done within four weeks of
/// its begin.
pub(crate) async fn run_traces(
    client: &LangfuseClient,
    between: TimeWindow,
) -> SinkResult<Vec<TraceId>> {
    let since = between.from.map_or(Timestamp::from_nanos(0), |from| from.plus_nanos(-RUN_NANOS));
    let found = copy::traces_of_runs(client, since).await?;
    Ok(found.iter().filter_map(|id| TraceId::parse(id).ok()).collect())
}

/// Returns the active dataset items made since a time, of datasets whose name ends so.
pub(crate) async fn sourced_items(
    client: &LangfuseClient,
    is_read: impl Fn(&str) -> bool,
    since: Timestamp,
) -> SinkResult<Vec<SourcedItem>> {
    let mut names = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = client.datasets(&at).await?;
        names.extend(slice.rows.into_iter().map(|dataset| dataset.name));
        next = slice.next;
    }
    let mut found = Vec::new();
    for name in names.into_iter().filter(|name| is_read(name)) {
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let slice = client.dataset_items(&name, &at).await?;
            let items = slice.rows.into_iter().filter(|item| {
                item.status.0 == DatasetStatus::Active && item.created_at.0 >= since
            });
            found.extend(items.map(|item| SourcedItem {
                dataset: item.dataset_name,
                trace: item.source_trace_id,
                created_at: item.created_at.0,
            }));
            next = slice.next;
        }
    }
    Ok(found)
}
