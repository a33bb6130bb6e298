use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Content;
use ratchet_remote::langfuse::wire::experiment::ExperimentView;
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_store::experiment::ExperimentSummary;
use ratchet_store::project::ProjectId;
use ratchet_store::query::ScoresOn;

use super::query::Group;
use super::{raw_object, scores, typed};
use crate::app::App;
use crate::error::ApiResult;
use crate::langfuse::page_stream::RowWriter;

/// An experiment of a page; its scores are read when it is written.
pub(super) struct ExperimentRow {
    pub(super) summary: ExperimentSummary,
    pub(super) scores: Option<Vec<Score>>,
}

/// Writes the experiments of a page, with the groups that were requested.
pub(super) struct ExperimentWriter {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) groups: Vec<Group>,
    pub(super) score_limit: u64,
}

impl RowWriter for ExperimentWriter {
    type Row = ExperimentRow;

    fn shows_content(&self) -> bool {
        true
    }

    fn content(_: &ExperimentRow) -> Option<&Content> {
        None
    }

    fn is_whole(&self, row: &ExperimentRow) -> bool {
        !row.summary.experiment.is_cut && (row.scores.is_some() || !self.shows(Group::Scores))
    }

    fn bytes(row: &ExperimentRow) -> usize {
        let of_score = |score: &Score| {
            let metadata = score.metadata.iter().map(|(key, json)| key.len() + json.as_str().len());
            score.comment.as_ref().map_or(0, String::len) + metadata.sum::<usize>()
        };
        row.summary.experiment.text_bytes()
            + row.scores.iter().flatten().map(of_score).sum::<usize>()
    }

    async fn load(&self, row: ExperimentRow) -> ApiResult<Option<ExperimentRow>> {
        let ExperimentRow { summary, .. } = row;
        let telemetry = &self.app.store.telemetry;
        let whole = telemetry.whole_experiment(self.project.clone(), summary.experiment).await?;
        let Some(experiment) = whole else { return Ok(None) };
        let mut found = None;
        if self.shows(Group::Scores) {
            let on = ScoresOn::DatasetRun(experiment.id.clone());
            let page = scores(&self.app, &self.project, on, (None, self.score_limit)).await?;
            found = Some(page.rows);
        }
        let summary = ExperimentSummary { experiment, ..summary };
        Ok(Some(ExperimentRow { summary, scores: found }))
    }

    fn write(&self, row: &ExperimentRow, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let scores = row.scores.as_ref();
        let scores = scores.map(|all| all.iter().map(|one| typed(one, &self.project)).collect());
        let view = ExperimentView { scores, ..self.view(&row.summary) };
        serde_json::to_writer(text, &view)
    }
}

impl ExperimentWriter {
    fn shows(&self, group: Group) -> bool {
        self.groups.contains(&group)
    }

    fn view(&self, summary: &ExperimentSummary) -> ExperimentView {
        let experiment = &summary.experiment;
        let metadata = || Maybe::or_null(experiment.metadata.as_ref().and_then(raw_object));
        ExperimentView {
            id: experiment.id.clone(),
            name: experiment.name.clone(),
            description: experiment.description.clone(),
            start_time: summary.start.into(),
            end_time: summary.end.into(),
            item_count: summary.items,
            dataset_id: experiment.dataset.clone(),
            metadata: if self.shows(Group::Metadata) { metadata() } else { Maybe::Absent },
            scores: None,
        }
    }
}
