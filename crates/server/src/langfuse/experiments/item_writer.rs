use ratchet_core::catalog::experiment::TimeSpan;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_remote::langfuse::wire::experiment::ExperimentItemView;
use ratchet_remote::langfuse::wire::json::{Raw, object, payload, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::experiment::{Outcome, StoredExperimentItem};
use ratchet_store::project::ProjectId;
use ratchet_store::query::ScoresOn;

use super::query::ItemGroup;
use super::{raw_object, scores, typed};
use crate::app::App;
use crate::error::ApiResult;
use crate::langfuse::page_stream::RowWriter;

/// Maximum number of a trace's scores that are searched for those of one item.
const MAX_SCORES_OF_TRACE: u64 = 1_000;

/// An item of a page; its scores are read when it is written.
pub(super) struct ExperimentItemRow {
    pub(super) item: StoredExperimentItem,
    pub(super) scores: Option<Vec<Score>>,
}

/// Writes the items of a page, with the groups that were requested.
pub(super) struct ExperimentItemWriter {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) groups: Vec<ItemGroup>,
    pub(super) score_limit: u64,
}

impl RowWriter for ExperimentItemWriter {
    type Row = ExperimentItemRow;

    fn shows_content(&self) -> bool {
        true
    }

    fn content(row: &ExperimentItemRow) -> Option<&Content> {
        ItemTarget::of(&row.item).content
    }

    fn is_whole(&self, row: &ExperimentItemRow) -> bool {
        !row.item.is_cut && (row.scores.is_some() || !self.shows_scores())
    }

    async fn load(&self, row: ExperimentItemRow) -> ApiResult<Option<ExperimentItemRow>> {
        let telemetry = &self.app.store.telemetry;
        let item = telemetry.whole_experiment_item(self.project.clone(), row.item).await?;
        let Some(item) = item else { return Ok(None) };
        let scores = if self.shows_scores() { Some(self.scores(&item).await?) } else { None };
        Ok(Some(ExperimentItemRow { item, scores }))
    }

    fn write(&self, row: &ExperimentItemRow, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let scores = row.scores.as_ref();
        let scores = scores.map(|all| all.iter().map(|one| typed(one, &self.project)).collect());
        let view = ExperimentItemView { scores, ..item_view(&row.item, &self.groups) };
        serde_json::to_writer(text, &view)
    }
}

impl ExperimentItemWriter {
    fn shows_scores(&self) -> bool {
        self.groups.contains(&ItemGroup::Scores)
    }

    /// The newest scores of an item; those of other observations of its trace are passed over.
    async fn scores(&self, item: &StoredExperimentItem) -> ApiResult<Vec<Score>> {
        let wanted = usize::try_from(self.score_limit).unwrap_or(usize::MAX);
        let (mut found, mut cursor, mut left) = (Vec::new(), None, MAX_SCORES_OF_TRACE);
        while found.len() < wanted && left > 0 {
            let on = ScoresOn::Trace(item.trace.clone());
            let limit = self.score_limit.min(left);
            let page = scores(&self.app, &self.project, on, (cursor, limit)).await?;
            left -= limit;
            found.extend(page.rows.into_iter().filter(|score| is_on(score, item)));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        found.truncate(wanted);
        Ok(found)
    }
}

/// Whether a score is on the item's observation or on its whole trace.
fn is_on(score: &Score, item: &StoredExperimentItem) -> bool {
    match &score.target {
        ScoreTarget::Trace(_) => true,
        ScoreTarget::Observation(_, observation) => item.observation.as_ref() == Some(observation),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => false,
    }
}

fn item_view(item: &StoredExperimentItem, groups: &[ItemGroup]) -> ExperimentItemView {
    let target = ItemTarget::of(item);
    let experiment = &item.experiment;
    let content = target.content;
    let with = |group: ItemGroup, json: Option<Raw>| {
        if groups.contains(&group) { Maybe::or_null(json) } else { Maybe::Absent }
    };
    let with_dataset = groups.contains(&ItemGroup::Dataset);
    let with_experiment = groups.contains(&ItemGroup::ExperimentMetadata);
    let input = content.and_then(|content| content.input.as_ref()).map(payload);
    let output = content.and_then(|content| content.output.as_ref()).map(payload);
    ExperimentItemView {
        id: item.observation.as_ref().map_or_else(|| item.trace.to_string(), ToString::to_string),
        trace_id: item.trace.to_string(),
        start_time: target.ran.map_or(item.created_at, |ran| ran.start).into(),
        end_time: target.ran.map(|ran| ran.end.into()),
        level: WireName(target.level),
        environment: target.environment,
        experiment_id: experiment.id.clone(),
        experiment_name: experiment.name.clone(),
        experiment_item_id: item.item.clone(),
        experiment_dataset_id: maybe(with_dataset, experiment.dataset.clone()),
        experiment_item_version: maybe(with_dataset, item.version.map(Time)),
        input: with(ItemGroup::Io, input),
        output: with(ItemGroup::Io, output),
        expected_output: with(ItemGroup::Io, item.expected_output.as_ref().map(raw)),
        metadata: with(ItemGroup::Metadata, content.map(|content| object(&content.metadata))),
        experiment_item_metadata: with(
            ItemGroup::ItemMetadata,
            item.metadata.as_ref().and_then(raw_object),
        ),
        experiment_metadata: with(
            ItemGroup::ExperimentMetadata,
            experiment.metadata.as_ref().and_then(raw_object),
        ),
        experiment_description: maybe(with_experiment, experiment.description.clone()),
        scores: None,
    }
}

fn maybe<T>(is_asked: bool, value: Option<T>) -> Maybe<T> {
    if is_asked { Maybe::or_null(value) } else { Maybe::Absent }
}

/// The trace or observation of an item, with its level.
struct ItemTarget<'a> {
    ran: Option<TimeSpan>,
    level: Level,
    environment: String,
    content: Option<&'a Content>,
}

impl<'a> ItemTarget<'a> {
    fn of(item: &'a StoredExperimentItem) -> Self {
        match &item.outcome {
            Some(Outcome::Step(step)) => {
                let end = step.end.unwrap_or(step.start);
                Self {
                    ran: item.ran.or(Some(TimeSpan { start: step.start, end })),
                    level: step.level,
                    environment: step.environment.to_string(),
                    content: step.content.as_ref(),
                }
            }
            Some(Outcome::Run(run)) => Self {
                ran: item.ran,
                level: Level::default(),
                environment: run.environment.to_string(),
                content: run.content.as_ref(),
            },
            None => Self {
                ran: item.ran,
                level: Level::default(),
                environment: ratchet_core::environment::Environment::default().to_string(),
                content: None,
            },
        }
    }
}
