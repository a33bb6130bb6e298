use std::sync::PoisonError;
use std::time::Duration;

use ratchet_core::record::observation::Observation;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;

use super::{TelemetryDb, read};
use crate::StoreResult;
use crate::deadline_query::{DeadlinePage, ObservationOrder};
use crate::live_tail::{ArrivalCursor, Arrivals, RecordKind};
use crate::project::ProjectId;
use crate::query::{
    Direction, ObservationQuery, Page, SessionOrder, SessionQuery, TraceOrder, TraceQuery,
};

impl TelemetryDb {
    pub(crate) async fn seek_traces(
        &self,
        query: TraceQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Trace>> {
        let readers = &self.shared.readers;
        if query.order.0 == TraceOrder::Timestamp {
            return readers.read(move |db| read::traces::seek(db, &query, time)).await;
        }
        // A sort order is only known once all rows are read.
        let page = readers.read_within(time, move |db| read::traces::list(db, &query)).await?;
        Ok(DeadlinePage { page, reached: None })
    }

    pub(crate) async fn seek_observations(
        &self,
        query: ObservationQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Observation>> {
        let cache = self.shared.trace_page_cache.clone();
        let seek = move |db: &_| read::observations::seek(db, &query, (time, &cache));
        self.shared.readers.read(seek).await
    }

    pub(crate) async fn seek_sessions(
        &self,
        query: SessionQuery,
        order: (SessionOrder, Direction),
        time: Duration,
    ) -> StoreResult<DeadlinePage<Session>> {
        let readers = &self.shared.readers;
        if let (SessionOrder::CreatedAt, direction) = order {
            let seek = move |db: &_| read::sessions::seek(db, &query, (direction, time));
            return readers.read(seek).await;
        }
        let sorted = move |db: &_| read::sessions::sorted(db, &query, order);
        Ok(DeadlinePage { page: readers.read_within(time, sorted).await?, reached: None })
    }

    pub(crate) async fn sorted_observations(
        &self,
        query: ObservationQuery,
        by: ObservationOrder,
        time: Duration,
    ) -> StoreResult<Page<Observation>> {
        let sorted = move |db: &_| read::observations::sorted(db, &query, by);
        self.shared.readers.read_within(time, sorted).await
    }

    pub(crate) fn arrived(&self) -> ArrivalCursor {
        self.shared.writer.arrivals.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub(crate) fn arrivals(
        &self,
        of: (&ProjectId, RecordKind),
        after: ArrivalCursor,
        at_most: usize,
    ) -> Arrivals {
        let arrivals = self.shared.writer.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.after(after, of, at_most)
    }
}
