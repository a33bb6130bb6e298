use ratchet_core::environment::Environment;
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::record::session::Session;
use ratchet_core::time::Timestamp;

use super::list::RawList;
use super::record::{self, SessionSum};
use super::request::ApiRequest;
use super::route::Route;
use super::slice::{Position, Slice, TimeWindow};
use super::traces::TraceFilter;
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::session::SessionView;
use ratchet_core::issue::Issue;

/// Page size: each session is summed over its traces, which are read in full.
const PAGE_SIZE: u64 = 10;

impl LangfuseClient {
    /// Returns the sessions that started in a time range, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn sessions(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Session>, ClientError> {
        let request = ApiRequest::get(Route::Sessions.path())
            .with("limit", &PAGE_SIZE)
            .with_some("fromTimestamp", between.from)
            .with_some("toTimestamp", between.to)
            .at(at);
        let is_walk = matches!(at, Position::Cursor(_));
        let list = if is_walk { None } else { self.get_list(Route::Sessions, &request).await? };
        let Some(list): Option<RawList> = list else {
            return self.rebuilt_sessions(between, at).await;
        };
        let listed = list.rows::<SessionView>().map(|view| session(&view));
        let mut rows = Vec::with_capacity(listed.rows.len());
        for session in listed.rows {
            rows.push(self.summed(session).await?);
        }
        Ok(Slice { rows, unreadable: listed.unreadable, next: listed.next, total: listed.total })
    }

    /// Returns a session; `None` if it has no traces.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, ClientError> {
        let summed = self.summed(without_sums(id.clone())).await?;
        Ok(Some(summed).filter(|session| session.traces > 0))
    }

    async fn summed(&self, session: Session) -> Result<Session, ClientError> {
        let query = TraceFilter { session: Some(session.id.clone()), ..TraceFilter::default() };
        let mut sum = SessionSum::new(session);
        let mut at = Some(Position::Start);
        while let Some(position) = at {
            let slice = self.traces(&query, &position).await?;
            for whole in &slice.rows {
                sum.add(&whole.trace);
            }
            at = slice.next;
        }
        Ok(sum.into_session())
    }
}

fn session(view: &SessionView) -> Result<Session, Issue> {
    Ok(Session {
        created_at: view.created_at.0,
        last_at: view.created_at.0,
        environment: Environment::normalise(&view.environment),
        ..without_sums(record::id("id", &view.id)?)
    })
}

/// Creates an empty session.
pub(super) fn without_sums(id: SessionId) -> Session {
    Session {
        id,
        created_at: Timestamp::default(),
        last_at: Timestamp::default(),
        environment: Environment::default(),
        traces: 0,
        errors: 0,
        total_tokens: 0,
        cost: None,
        approximate_cost: Money::default(),
    }
}
