use ratchet_core::record::trace::Content;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dataset::DatasetItemView;
use ratchet_store::project::ProjectId;

use super::Seen;
use crate::app::App;
use crate::error::ApiResult;
use crate::langfuse::page_stream::RowWriter;
use crate::origin::Origin;

/// Approximate bytes of the items of a page that are read at once.
pub(super) const PAGE_BYTES: usize = 2_000_000;

/// An item of a page.
pub(super) enum ListedView {
    Whole(Box<DatasetItemView>),
    /// Its id, as the page has long items before it.
    Cut(String),
}

/// Writes the items of a page.
pub(super) struct DatasetItemWriter {
    pub(super) app: App,
    pub(super) origin: Origin,
    pub(super) project: ProjectId,
    pub(super) as_of: Option<Timestamp>,
}

impl RowWriter for DatasetItemWriter {
    type Row = ListedView;

    fn shows_content(&self) -> bool {
        true
    }

    fn content(_: &ListedView) -> Option<&Content> {
        None
    }

    fn is_whole(&self, row: &ListedView) -> bool {
        matches!(row, ListedView::Whole(_))
    }

    fn bytes(row: &ListedView) -> usize {
        let ListedView::Whole(view) = row else { return 0 };
        let texts = [&view.input, &view.expected_output, &view.metadata];
        texts.into_iter().flatten().map(|json| json.get().len()).sum()
    }

    async fn load(&self, row: ListedView) -> ApiResult<Option<ListedView>> {
        let ListedView::Cut(id) = row else { return Ok(Some(row)) };
        let (catalog, project) = (&self.app.store.catalog, self.project.clone());
        let Some(item) = catalog.dataset_item(project, id, self.as_of).await? else {
            return Ok(None);
        };
        let seen = Seen::of(&self.app, &self.origin, self.project.clone(), vec![item]).await?;
        let views = self.app.workers.run_sized(seen.bytes, move || seen.views()).await?;
        Ok(views.into_iter().next().map(|view| ListedView::Whole(Box::new(view))))
    }

    fn write(&self, row: &ListedView, text: &mut Vec<u8>) -> serde_json::Result<()> {
        match row {
            ListedView::Whole(view) => serde_json::to_writer(text, view),
            ListedView::Cut(_) => Ok(()),
        }
    }
}
