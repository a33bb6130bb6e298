//! Queues, known again by name, and comments, known by what they say about what.

use std::collections::BTreeSet;

use crate::langfuse::client::{ClientError, LangfuseClient};
use crate::langfuse::wire::comment::{CommentRequest, CommentView};
use crate::langfuse::wire::queue::{QueueItemRequest, QueueRequest, QueueView};

use super::catalog::{all, refused};
use super::{Checkpoint, CopyError, PartProgress, Refused, Route};

/// Copies all queues, each with what is in it.
pub(super) async fn queues(
    route: &Route<'_>,
    checkpoint: &Checkpoint,
    progress: &mut PartProgress,
) -> Result<Vec<Refused>, CopyError> {
    let theirs = all(async |at| route.from.queues(&at).await).await?;
    progress.read = theirs.len() as u64;
    let Some(into) = route.into else { return Ok(Vec::new()) };
    let ours = all(async |at| into.queues(&at).await).await?;
    let mut left_out = Vec::new();
    for theirs in &theirs {
        let known = ours.iter().find(|ours| ours.name == theirs.name).map(|ours| ours.id.clone());
        let here = match known {
            Some(id) => Ok(id),
            None => into.create_queue(&new_queue(theirs, checkpoint)).await.map(|made| {
                progress.recorded += 1;
                made.id
            }),
        };
        match here {
            Ok(here) => left_out.extend(items(route.from, into, (&theirs.id, &here)).await?),
            Err(error) => left_out.push(refused(format!("queue {}", theirs.name), error)?),
        }
    }
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

fn new_queue(theirs: &QueueView, checkpoint: &Checkpoint) -> QueueRequest {
    let here = |id: &String| checkpoint.score_configs.get(id).cloned();
    QueueRequest {
        name: theirs.name.clone(),
        description: theirs.description.clone(),
        score_config_ids: theirs.score_config_ids.iter().filter_map(here).collect(),
    }
}

async fn items(
    from: &LangfuseClient,
    into: &LangfuseClient,
    (there, here): (&str, &str),
) -> Result<Vec<Refused>, ClientError> {
    let ours = all(async |at| into.queue_items(here, &at).await).await?;
    let mut known: BTreeSet<_> =
        ours.iter().map(|item| (item.object_type.0.as_str(), item.object_id.clone())).collect();
    let mut theirs = all(async |at| from.queue_items(there, &at).await).await?;
    // Lists begin with the newest, and what comes first must be the oldest here, too.
    theirs.reverse();
    let mut left_out = Vec::new();
    for item in theirs {
        if !known.insert((item.object_type.0.as_str(), item.object_id.clone())) {
            continue;
        }
        let what = format!("queue item {}", item.id);
        let new = QueueItemRequest {
            object_id: item.object_id,
            object_type: item.object_type,
            status: Some(item.status),
        };
        if let Err(error) = into.create_queue_item(here, &new).await {
            left_out.push(refused(what, error)?);
        }
    }
    Ok(left_out)
}

/// Copies all comments. Who said it is left out: people are not copied.
pub(super) async fn comments(
    route: &Route<'_>,
    progress: &mut PartProgress,
) -> Result<Vec<Refused>, CopyError> {
    let mut theirs = all(async |at| route.from.comments(&at).await).await?;
    theirs.reverse();
    progress.read = theirs.len() as u64;
    let Some(into) = route.into else { return Ok(Vec::new()) };
    let project_id = into.project_id().await?;
    let mut ours = all(async |at| into.comments(&at).await).await?;
    let mut left_out = Vec::new();
    for theirs in theirs {
        // The same may be said twice: each of ours stands for one of theirs.
        if let Some(twin) = ours.iter().position(|ours| is_same(ours, &theirs)) {
            ours.swap_remove(twin);
            continue;
        }
        let what = format!("comment {}", theirs.id);
        let new = CommentRequest {
            project_id: project_id.clone(),
            object_type: theirs.object_type,
            object_id: theirs.object_id,
            content: theirs.content,
            author_user_id: None,
        };
        match into.create_comment(&new).await {
            Ok(_) => progress.recorded += 1,
            Err(error) => left_out.push(refused(what, error)?),
        }
    }
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

fn is_same(ours: &CommentView, theirs: &CommentView) -> bool {
    (ours.object_type, &ours.object_id, &ours.content)
        == (theirs.object_type, &theirs.object_id, &theirs.content)
}
