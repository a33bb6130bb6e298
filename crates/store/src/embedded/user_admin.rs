use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::session::Session;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::WeekDraw;

use super::{TelemetryDb, read};
use crate::project::ProjectId;
use crate::query::{Page, SessionEnds, SessionQuery};
use crate::review_signals::{DrawQuery, ReviewedSignal, SignalQuery, WeekSignals};
use crate::score_stats::{PairQuery, Pairs, Sample, SampleQuery};
use crate::user::{UserDay, UserQuery, UserScope, Users};
use crate::{StoreError, StoreResult};

impl TelemetryDb {
    pub(crate) async fn sessions(&self, query: SessionQuery) -> StoreResult<Page<Session>> {
        self.shared.readers.read(move |db| read::sessions::list(db, &query)).await
    }

    pub(crate) async fn session(
        &self,
        project: ProjectId,
        id: SessionId,
    ) -> StoreResult<Option<Session>> {
        let query = move |db: &_| read::sessions::one(db, &project, &id);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn session_ends(
        &self,
        project: ProjectId,
        ids: Vec<SessionId>,
    ) -> StoreResult<Vec<SessionEnds>> {
        let query = move |db: &_| read::sessions::ends(db, &project, &ids);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn users(&self, query: UserQuery) -> StoreResult<Users> {
        self.shared.readers.read(move |db| read::users::list(db, &query)).await
    }

    pub(crate) async fn user_days(
        &self,
        scope: UserScope,
        user: String,
    ) -> StoreResult<Vec<UserDay>> {
        let query = move |db: &_| read::users::days(db, &scope, &user);
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn score_samples(&self, query: SampleQuery) -> StoreResult<Vec<Sample>> {
        let read = move |db: &_| read::score_stats::samples(db, &query);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn score_pairs(&self, query: PairQuery) -> StoreResult<Pairs> {
        let read = move |db: &_| read::score_stats::pairs(db, &query);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn traced_agents(
        &self,
        query: SignalQuery,
    ) -> StoreResult<Vec<(Option<String>, u64)>> {
        let read = move |db: &_| read::review_signals::agents(db, &query);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn week_signals(&self, query: SignalQuery) -> StoreResult<WeekSignals> {
        let read = move |db: &_| read::review_signals::signals(db, &query);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn traces_of_category(
        &self,
        query: SignalQuery,
        category: Category,
        limit: usize,
    ) -> StoreResult<Vec<TraceId>> {
        let read = move |db: &_| read::review_signals::of_category(db, &query, category, limit);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn draw_week(&self, query: DrawQuery) -> StoreResult<WeekDraw> {
        let read = move |db: &_| read::review_signals::draw(db, &query);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    pub(crate) async fn review_answers(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<ReviewedSignal>> {
        let read = move |db: &_| read::review_signals::answers(db, &project, &traces);
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }
}
