use ratchet_core::record::trace::Content;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::Experiment;
use ratchet_store::project::ProjectId;

use super::view;
use crate::app::App;
use crate::error::ApiResult;
use crate::langfuse::page_stream::RowWriter;

/// Writes the runs of a page, however long their metadata.
pub(super) struct RunWriter {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) dataset: Dataset,
}

impl RowWriter for RunWriter {
    type Row = Experiment;

    fn shows_content(&self) -> bool {
        true
    }

    fn content(_: &Experiment) -> Option<&Content> {
        None
    }

    fn is_whole(&self, run: &Experiment) -> bool {
        !run.is_cut
    }

    fn bytes(run: &Experiment) -> usize {
        run.text_bytes()
    }

    async fn load(&self, run: Experiment) -> ApiResult<Option<Experiment>> {
        Ok(self.app.store.telemetry.whole_experiment(self.project.clone(), run).await?)
    }

    fn write(&self, run: &Experiment, text: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(text, &view(run.clone(), &self.dataset))
    }
}
