//! Prompts, models and score configs. Servers give them ids of their own, so they are known again by
//! name: a score config by name and type, a version of a prompt by name and number.

use crate::langfuse::client::{ClientError, LangfuseClient, Position, Slice};
use crate::langfuse::wire::model::{ModelRequest, ModelView, TierRequest, TierView};
use crate::langfuse::wire::prompt::{CreatePrompt, PromptMetaView, PromptView};
use crate::langfuse::wire::score_config::{CreateScoreConfig, ScoreConfigView, UpdateScoreConfig};
use ratchet_core::catalog::prompt::LATEST;
use ratchet_core::record::score::DataType;

use super::{Checkpoint, CopyError, PartProgress, Refused, Route};

/// Copies a slice of score configs, notes the ids they have got, and returns what was left out.
pub(super) async fn score_configs(
    route: &Route<'_>,
    checkpoint: &mut Checkpoint,
    progress: &mut PartProgress,
    at: &Position,
) -> Result<Vec<Refused>, CopyError> {
    let slice = route.from.score_configs(at).await?;
    let mut left_out = Vec::new();
    let known = match route.into {
        Some(into) => all(async |at| into.score_configs(&at).await).await?,
        None => Vec::new(),
    };
    let is_same = |ours: &&ScoreConfigView, theirs: &ScoreConfigView| {
        ours.name == theirs.name && ours.data_type == theirs.data_type
    };
    for theirs in &slice.rows {
        let ours = known.iter().find(|ours| is_same(ours, theirs));
        let here = match (ours, route.into) {
            (Some(ours), _) => ours.id.clone(),
            (None, Some(into)) => match make_config(into, theirs).await {
                Ok(made) => {
                    progress.recorded += 1;
                    made
                }
                Err(error) => {
                    left_out.push(refused(format!("score config {}", theirs.name), error)?);
                    continue;
                }
            },
            (None, None) => continue,
        };
        checkpoint.score_configs.insert(theirs.id.clone(), here);
    }
    advance(progress, &slice);
    progress.refused += left_out.len() as u64;
    Ok(left_out)
}

async fn make_config(
    into: &LangfuseClient,
    theirs: &ScoreConfigView,
) -> Result<String, ClientError> {
    // Those of a truth are its server's own, and not taken from others.
    let is_chosen = theirs.data_type.0 == DataType::Categorical;
    let new = CreateScoreConfig {
        name: theirs.name.clone(),
        data_type: theirs.data_type,
        categories: theirs.categories.clone().filter(|_| is_chosen),
        min_value: theirs.min_value,
        max_value: theirs.max_value,
        description: theirs.description.clone(),
    };
    let made = into.create_score_config(&new).await?;
    if theirs.is_archived {
        let archived = UpdateScoreConfig { is_archived: Some(true), ..Default::default() };
        into.update_score_config(&made.id, &archived).await?;
    }
    Ok(made.id)
}

/// Copies a slice of models.
pub(super) async fn models(
    route: &Route<'_>,
    progress: &mut PartProgress,
    at: &Position,
) -> Result<(), CopyError> {
    let slice = route.from.own_models(at).await?;
    advance(progress, &slice);
    let Some(into) = route.into else {
        return Ok(());
    };
    let known = all(async |at| into.own_models(&at).await).await?;
    for theirs in slice.rows {
        let is_same = |ours: &ModelView| {
            (&ours.model_name, &ours.match_pattern, ours.start_date)
                == (&theirs.model_name, &theirs.match_pattern, theirs.start_date)
        };
        if !known.iter().any(is_same) {
            into.create_model(&request(theirs)).await?;
            progress.recorded += 1;
        }
    }
    Ok(())
}

fn request(theirs: ModelView) -> ModelRequest {
    let tiers: Vec<TierRequest> = theirs.pricing_tiers.into_iter().map(tier).collect();
    let is_flat = tiers.is_empty();
    ModelRequest {
        model_name: theirs.model_name,
        match_pattern: theirs.match_pattern,
        start_date: theirs.start_date,
        unit: Some(theirs.unit),
        input_price: theirs.input_price.filter(|_| is_flat),
        output_price: theirs.output_price.filter(|_| is_flat),
        total_price: theirs.total_price.filter(|_| is_flat),
        pricing_tiers: (!is_flat).then_some(tiers),
        tokenizer_id: theirs.tokenizer_id,
        tokenizer_config: theirs.tokenizer_config,
    }
}

fn tier(theirs: TierView) -> TierRequest {
    TierRequest {
        name: theirs.name,
        is_default: theirs.is_default,
        priority: theirs.priority,
        conditions: theirs.conditions,
        prices: theirs.prices,
    }
}

/// Copies all prompts, each with all its versions.
///
/// A prompt may refer to another, which must be there first: those that are refused are tried
/// again as long as that helps.
pub(super) async fn prompts(
    route: &Route<'_>,
    progress: &mut PartProgress,
) -> Result<Vec<Refused>, CopyError> {
    let all_theirs = all(async |at| route.from.prompts(&at).await).await?;
    progress.read = all_theirs.len() as u64;
    let Some(into) = route.into else {
        return Ok(Vec::new());
    };
    let known = all(async |at| into.prompts(&at).await).await?;
    let mut waiting: Vec<&PromptMetaView> = all_theirs.iter().collect();
    loop {
        let mut refused = Vec::new();
        let mut still_waiting = Vec::new();
        for theirs in &waiting {
            let ours = known.iter().find(|ours| ours.name == theirs.name);
            match prompt(route.from, into, theirs, ours).await {
                Ok(made) => progress.recorded += made,
                Err(error) if error.status().is_some_and(|status| status < 500) => {
                    let what = format!("prompt {}", theirs.name);
                    refused.push(Refused { what, why: error.to_string() });
                    still_waiting.push(*theirs);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if still_waiting.is_empty() || still_waiting.len() == waiting.len() {
            progress.refused += refused.len() as u64;
            return Ok(refused);
        }
        waiting = still_waiting;
    }
}

/// Copies the versions of a prompt that are not there yet, and says how many those were.
async fn prompt(
    from: &LangfuseClient,
    into: &LangfuseClient,
    theirs: &PromptMetaView,
    ours: Option<&PromptMetaView>,
) -> Result<u64, ClientError> {
    let mut versions = theirs.versions.clone();
    versions.sort_unstable();
    let mut made = 0;
    for version in versions {
        let Some(view) = from.prompt(&theirs.name, version).await? else { continue };
        let is_there = ours.is_some_and(|ours| ours.versions.contains(&version));
        if !is_there {
            make_version(into, &view).await?;
            made += 1;
            continue;
        }
        let labels = own_labels(&view);
        if !labels.is_empty() {
            into.move_prompt_labels(&view.name, version, labels).await?;
        }
    }
    Ok(made)
}

/// Makes a version under its own number. Numbers that are missing there are made and taken away
/// again, because servers count without gaps.
async fn make_version(into: &LangfuseClient, view: &PromptView) -> Result<(), ClientError> {
    let new = CreatePrompt {
        name: view.name.clone(),
        kind: Some(view.kind),
        prompt: view.prompt.clone(),
        config: Some(view.config.clone()),
        labels: own_labels(view),
        tags: Some(view.tags.clone()),
        commit_message: view.commit_message.clone(),
    };
    let mut fillers = Vec::new();
    loop {
        let made = into.create_prompt(&new).await?;
        if made.version >= view.version {
            break;
        }
        fillers.push(made.version);
    }
    for filler in fillers {
        into.delete_prompt(&view.name, filler).await?;
    }
    Ok(())
}

/// The labels that people gave; `latest` is the server's own.
fn own_labels(view: &PromptView) -> Vec<String> {
    view.labels.iter().filter(|label| *label != LATEST).cloned().collect()
}

pub(super) fn advance<T>(progress: &mut PartProgress, slice: &Slice<T>) {
    progress.next = slice.next.clone();
    progress.total = slice.total;
    progress.read += (slice.rows.len() + slice.unreadable.len()) as u64;
    progress.refused += slice.unreadable.len() as u64;
}

/// A record that a server did not take; any other trouble is the copy's.
pub(super) fn refused(what: String, error: ClientError) -> Result<Refused, ClientError> {
    match error.status() {
        Some(status) if status < 500 => Ok(Refused { what, why: error.to_string() }),
        _ => Err(error),
    }
}

/// All rows of a short list.
pub(super) async fn all<T>(
    mut slice: impl AsyncFnMut(Position) -> Result<Slice<T>, ClientError>,
) -> Result<Vec<T>, ClientError> {
    let mut rows = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = slice(at).await?;
        rows.extend(slice.rows);
        next = slice.next;
    }
    Ok(rows)
}
