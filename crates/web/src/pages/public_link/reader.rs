use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::permit_pool::Permit;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_store::catalog::{Publication, PublishedKind};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationQuery, Page, Paging, TimeRange, TraceColumn,
    TraceOrder, TraceQuery,
};

use crate::client_address;
use crate::message_preview::Side;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, Params};
use crate::viewer_time::ViewerTime;
use crate::web::Web;

/// Turns of a session on one page.
const TURNS: u64 = 20;
/// Observations of a trace that are listed.
const MAX_STEPS: u64 = 500;

/// What the token of a request may read: extractor of public pages. Records are read through it
/// alone, so that none outside of the published trace or session is reached.
#[derive(Debug)]
pub(super) struct PublicReader {
    pub(super) web: Web,
    pub(super) params: Params,
    pub(super) time: ViewerTime,
    publication: Publication,
    /// Anybody may ask, so that each address gets a share.
    _permit: Permit<String>,
}

/// The same answer for an unknown token, a revoked one and a record that is gone.
fn gone() -> PageError {
    PageError::NotFound("this link is not public, or no longer".to_owned())
}

impl FromRequestParts<Web> for PublicReader {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> PageResult<Self> {
        let address = client_address::of(web, &parts.headers, &parts.extensions);
        let permit = web.public_reads.take(Some(address));
        let permit = permit.map_err(|_| PageError::Waiting("public pages".to_owned()))?;
        let named = RawPathParams::from_request_parts(parts, web).await.map_err(|_| gone())?;
        let token = named.iter().find(|(name, _)| *name == "token").map(|(_, value)| value);
        let token = token.unwrap_or_default().to_owned();
        let found = web.store.catalog.publication_by_token(token).await?;
        Ok(Self {
            web: web.clone(),
            params: Params::read(parts.uri.query().unwrap_or_default()),
            time: ViewerTime::of(&parts.headers, web.now()),
            publication: found.ok_or_else(gone)?,
            _permit: permit,
        })
    }
}

impl PublicReader {
    pub(super) fn project(&self) -> ProjectId {
        self.publication.project.clone()
    }

    /// Link to a part of this page.
    pub(super) fn link(&self, what: &str) -> Link {
        super::link_to(&self.publication.token, what)
    }

    pub(super) const fn is_session(&self) -> bool {
        matches!(self.publication.kind, PublishedKind::Session)
    }

    /// The trace of the request; `None` for the session itself.
    pub(super) async fn asked_trace(&self) -> PageResult<Option<Trace>> {
        let id = match self.publication.kind {
            PublishedKind::Trace => Some(self.publication.object.as_str()),
            PublishedKind::Session => self.params.get("trace"),
        };
        match id {
            Some(id) => self.trace(id).await.map(Some),
            None => Ok(None),
        }
    }

    /// A turn of the session with its content, which is read if the list left it out; as it is if it
    /// was deleted meanwhile.
    pub(super) async fn with_content(&self, turn: Trace) -> PageResult<Trace> {
        if turn.content.is_some() {
            return Ok(turn);
        }
        match self.trace(&turn.id.to_string()).await {
            Err(PageError::NotFound(_)) => Ok(turn),
            read => read,
        }
    }

    /// A trace that the link covers.
    async fn trace(&self, id: &str) -> PageResult<Trace> {
        let id = TraceId::parse(id).map_err(|_| gone())?;
        let found = self.web.store.telemetry.trace(self.project(), id).await?;
        found.filter(|trace| self.covers(trace)).ok_or_else(gone)
    }

    /// Whether the link covers a trace. A client that says that its trace is not public closes the
    /// link of the trace.
    fn covers(&self, trace: &Trace) -> bool {
        let object = &self.publication.object;
        match self.publication.kind {
            PublishedKind::Trace => trace.id.to_string() == *object && trace.public,
            PublishedKind::Session => {
                trace.session.as_ref().is_some_and(|session| session.to_string() == *object)
            }
        }
    }

    /// Some turns of the session, oldest first.
    pub(super) async fn turns(&self) -> PageResult<Page<Trace>> {
        let session = SessionId::parse(&self.publication.object).map_err(|_| gone())?;
        let cursor = self.params.get("cursor").map(str::to_owned);
        let query = TraceQuery {
            project: self.project(),
            range: TimeRange::default(),
            conditions: vec![Condition::equals(TraceColumn::Session, session.to_string())],
            order: (TraceOrder::Timestamp, Direction::Ascending),
            paging: Paging::After { cursor, limit: TURNS },
            detail: Detail::BoundedContent,
        };
        Ok(self.web.store.telemetry.traces(query).await?)
    }

    /// The first observations of a trace, without content, and whether there are more.
    pub(super) async fn observations(&self, trace: &Trace) -> PageResult<(Vec<Observation>, bool)> {
        let query = ObservationQuery {
            project: self.project(),
            range: TimeRange::default(),
            trace: Some(trace.id.clone()),
            conditions: Vec::new(),
            direction: Direction::Ascending,
            paging: Paging::After { cursor: None, limit: MAX_STEPS },
            detail: Detail::Row,
        };
        let found = self.web.store.telemetry.observations(query).await?;
        Ok((found.rows, found.cursor.is_some()))
    }

    /// The observation of the request, with content; it must be of the trace.
    pub(super) async fn asked_observation(&self, trace: &Trace) -> PageResult<Option<Observation>> {
        let Some(id) = self.params.get("observation") else { return Ok(None) };
        let id = ObservationId::parse(id).map_err(|_| gone())?;
        let found = self.web.store.telemetry.observation(self.project(), id).await?;
        found.filter(|step| step.trace == trace.id).map(Some).ok_or_else(gone)
    }

    /// The input or output of the request.
    pub(super) async fn payload(&self) -> PageResult<Payload> {
        let trace = match self.publication.kind {
            PublishedKind::Trace => self.publication.object.as_str(),
            PublishedKind::Session => self.params.get("trace").ok_or_else(gone)?,
        };
        let trace = self.trace(trace).await?;
        let content = match self.asked_observation(&trace).await? {
            Some(step) => step.content,
            None => trace.content,
        };
        let content = content.unwrap_or_default();
        let is_output = self.params.get("side") == Some(Side::Output.as_str());
        (if is_output { content.output } else { content.input }).ok_or_else(gone)
    }

    /// Whether the trace or session refers to an uploaded file.
    pub(super) async fn reaches_media(&self, media: &str) -> PageResult<bool> {
        let catalog = &self.web.store.catalog;
        for trace in catalog.traces_of_media(self.project(), media.to_owned()).await? {
            match self.trace(&trace).await {
                Ok(_) => return Ok(true),
                Err(PageError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
