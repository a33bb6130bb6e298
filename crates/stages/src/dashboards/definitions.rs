use ratchet_core::catalog::dashboard::Dashboard;
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Document, DocumentKind, Documents};
use ratchet_store::{StoreError, StoreResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{dashboard, widget};

/// Error of saving a definition.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The definition is invalid.
    #[error("{}", all(.0))]
    Invalid(Vec<Issue>),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Vec<Issue>> for SaveError {
    fn from(issues: Vec<Issue>) -> Self {
        Self::Invalid(issues)
    }
}

fn all(issues: &[Issue]) -> String {
    issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Parses a stored document.
///
/// # Errors
/// Fails if it was written by a newer Ratchet, in words this one does not know.
pub fn read<T: DeserializeOwned>(document: &Document) -> StoreResult<T> {
    serde_json::from_str(document.body.as_str())
        .map_err(|why| StoreError::BadQuery(format!("{} cannot be read: {why}", document.id)))
}

/// Writes what a document is to say.
///
/// # Errors
/// Fails if it nests too deep to be read again.
pub fn body(kept: &impl Serialize) -> StoreResult<Json> {
    let text = serde_json::to_string(kept).ok();
    let body = text.as_deref().and_then(Json::parse);
    body.ok_or_else(|| StoreError::BadQuery("the body nests too deep".to_owned()))
}

/// Returns a dashboard.
///
/// # Errors
/// Fails if the project has none of that id.
pub fn dashboard(documents: &Documents<'_>, id: &str) -> StoreResult<Dashboard> {
    read(&documents.find(DocumentKind::Dashboard, id)?)
}

/// Returns a widget.
///
/// # Errors
/// Fails if the project has none of that id.
pub fn widget(documents: &Documents<'_>, id: &str) -> StoreResult<Widget> {
    read(&documents.find(DocumentKind::Widget, id)?)
}

/// Keeps a dashboard, new or again.
///
/// # Errors
/// Fails if it makes no sense, or names a widget that is not there.
pub fn save_dashboard(
    documents: &Documents<'_>,
    mut dashboard: Dashboard,
    now: Timestamp,
) -> Result<Dashboard, SaveError> {
    dashboard::check(&dashboard, documents)?;
    dashboard.updated_at = now;
    let document = Document {
        id: dashboard.id.clone(),
        body: body(&dashboard)?,
        created_at: dashboard.created_at,
        updated_at: now,
    };
    documents.upsert(DocumentKind::Dashboard, &document)?;
    Ok(dashboard)
}

/// Keeps a widget, new or again.
///
/// # Errors
/// Fails if it makes no sense.
pub fn save_widget(
    documents: &Documents<'_>,
    mut widget: Widget,
    now: Timestamp,
) -> Result<Widget, SaveError> {
    widget::check(&widget)?;
    widget.updated_at = now;
    let document = Document {
        id: widget.id.clone(),
        body: body(&widget)?,
        created_at: widget.created_at,
        updated_at: now,
    };
    documents.upsert(DocumentKind::Widget, &document)?;
    Ok(widget)
}

/// The dashboards that show a widget.
///
/// # Errors
/// Fails only when the database does.
pub fn shown_on(documents: &Documents<'_>, widget: &str) -> StoreResult<Vec<Dashboard>> {
    let all = documents.all(DocumentKind::Dashboard)?;
    let all = all.iter().map(read).collect::<StoreResult<Vec<Dashboard>>>()?;
    Ok(all.into_iter().filter(|dashboard| shows(dashboard, widget)).collect())
}

fn shows(dashboard: &Dashboard, widget: &str) -> bool {
    dashboard.layout.tiles.iter().any(|tile| tile.is_of(widget))
}
