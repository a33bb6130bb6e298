//! Chats with targets: each message is one call of the target, and a trace in the session whose id
//! is the chat's (ADR 111).

/// Turns as records.
mod records;

use ratchet_core::experiment::conversation::{self, Exchange, History, MessageRefused};
use ratchet_core::experiment::runner::TrialCall;
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::id::{IdError, SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::{RatchetClient, RatchetError};
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationQuery, Paging, TimeRange, TraceColumn, TraceOrder,
    TraceQuery,
};
use ratchet_store::{Store, StoreError};
use serde_json::Value;

use crate::clock::Clock;
use crate::experiment::target::{AnswerListener, OpenTarget, TargetAnswer};
use crate::record::scores::ScoreWriteError;
use crate::sink::{LocalSink, Sink, SinkError};

/// Turns of a chat that are read.
const TURNS: u64 = 500;

/// Where turns are recorded.
#[derive(Clone, Debug)]
pub enum TurnHost {
    /// A project of an open store; the catalog names who acts in the audit log.
    Store(Box<LocalSink>),
    /// The project of a server that the client's key opens.
    Server(RatchetClient),
}

/// Why a turn was not made or recorded.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(transparent)]
    Message(#[from] MessageRefused),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot record the turn: {0}")]
    Record(#[from] ScoreWriteError),
    #[error(transparent)]
    Server(#[from] RatchetError),
    #[error(transparent)]
    Dataset(#[from] SinkError),
    #[error("chat: {0}")]
    Id(#[from] IdError),
    #[error("turn {0} not found")]
    NoTurn(String),
}

/// One message of a chat and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetTurn {
    pub trace: TraceId,
    pub text: String,
    /// `None` while the target works, after a fault, and if the turn was interrupted.
    pub answer: Option<String>,
    /// Why there is no answer.
    pub fault: Option<String>,
    pub started: Timestamp,
    /// `None` until it ended.
    pub ended: Option<Timestamp>,
    pub cost: Option<Money>,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct TurnRequest<'a> {
    pub chat: &'a SessionId,
    /// What was said before; turns without an answer are left out.
    pub before: Vec<Exchange>,
    pub text: &'a str,
    /// Who says it.
    pub person: Option<String>,
}

/// A turn as it is recorded.
pub(crate) struct RecordedTurn<'a> {
    pub(crate) call: &'a CallTrace,
    pub(crate) target: &'a OpenTarget,
    pub(crate) text: &'a str,
    /// What the target was sent.
    pub(crate) sent: &'a Value,
    pub(crate) person: Option<&'a str>,
    pub(crate) started: Timestamp,
    /// The end of the call and what came of it.
    pub(crate) end: Option<(Timestamp, Result<TargetAnswer, String>)>,
}

impl TargetTurn {
    /// Returns the history of later turns; `None` without an answer.
    pub fn exchange(&self) -> Option<Exchange> {
        Some(Exchange { text: self.text.clone(), answer: self.answer.clone()? })
    }
}

/// Sends a message to a target and records the turn: the question before the call, the answer after
/// it. An answer that is streamed is passed on as it comes. If the caller goes away, the call ends, and the
/// turn stays without an answer.
///
/// # Errors
/// Fails if the message is refused, or the turn cannot be recorded. A fault of the target is part of
/// the turn.
pub async fn send(
    host: &TurnHost,
    target: &OpenTarget,
    request: TurnRequest<'_>,
    (clock, listener): (&Clock, AnswerListener<'_>),
) -> Result<TargetTurn, TurnError> {
    let history = History::of_kind(&target.identity.kind);
    let sent = conversation::input(&request.before, request.text, history)?;
    let started = clock.now();
    let number = host.count(&request, &target.identity.name, started).await?;
    let call = CallTrace::of_turn(&request.chat.to_string(), number, started.nanos())?;
    let mut turn = RecordedTurn {
        call: &call,
        target,
        text: request.text,
        sent: &sent,
        person: request.person.as_deref(),
        started,
        end: None,
    };
    host.record(request.chat, &turn, started).await?;
    let trial = TrialCall {
        id: call.trace.to_string(),
        lease: 1,
        item: request.chat.to_string(),
        repeat: 1,
        input: sent.clone(),
        expected_output: Value::Null,
        metadata: Value::Null,
        cached: None,
    };
    let answered = target.call_streamed(&trial, &call, listener).await.map_err(|fault| fault.why);
    let ended = clock.now().max(started);
    turn.end = Some((ended, answered.clone()));
    host.record(request.chat, &turn, ended).await?;
    let cost = answered.as_ref().ok().and_then(|answer| Money::from_dollars(answer.cost?));
    let (answer, fault) = match answered {
        Ok(answer) => (Some(answer.text), None),
        Err(fault) => (None, Some(fault)),
    };
    let text = request.text.to_owned();
    Ok(TargetTurn { trace: call.trace, text, answer, fault, started, ended: Some(ended), cost })
}

impl TurnHost {
    /// Counts a turn. A server counts none: its sessions list what was recorded.
    async fn count(
        &self,
        request: &TurnRequest<'_>,
        target: &str,
        now: Timestamp,
    ) -> Result<u64, TurnError> {
        match self {
            Self::Store(local) => {
                let named = (target.to_owned(), request.text.to_owned());
                let chat = request.chat.clone();
                let counted =
                    local.catalog.count_target_turn(local.project.clone(), chat, named, now);
                Ok(counted.await?)
            }
            Self::Server(_) => Ok(request.before.len() as u64 + 1),
        }
    }

    async fn record(
        &self,
        chat: &SessionId,
        turn: &RecordedTurn<'_>,
        now: Timestamp,
    ) -> Result<(), TurnError> {
        match self {
            Self::Store(local) => Ok(records::write(local, chat, turn, now).await?),
            Self::Server(server) => Ok(records::send(server, chat, turn).await?),
        }
    }

    /// Adds a turn to a dataset, which is created if there is none of its name: what the target was
    /// sent, and the answer it should have given. The same turn again changes the item.
    ///
    /// # Errors
    /// Fails if it cannot be written, or does not fit the dataset.
    pub async fn add_to_dataset(
        &self,
        dataset: &str,
        turn: &TraceId,
        (sent, expected): (&Value, &str),
        now: Timestamp,
    ) -> Result<String, TurnError> {
        let sink = match self {
            Self::Store(local) => Sink::Local(LocalSink::clone(local)),
            Self::Server(server) => Sink::Remote(server.langfuse().map_err(SinkError::from)?),
        };
        let new = NewDataset {
            name: dataset.to_owned(),
            description: None,
            metadata: None,
            input_schema: FieldUpdate::Keep,
            expected_output_schema: FieldUpdate::Keep,
        };
        if !self.has_dataset(dataset).await? {
            sink.dataset(new, now).await?;
        }
        let item =
            NewDatasetItem { dataset_name: dataset.to_owned(), ..item(turn, sent, expected) };
        Ok(sink.dataset_item(item, now).await?)
    }

    /// A server keeps what a dataset has if it is created again.
    async fn has_dataset(&self, name: &str) -> Result<bool, TurnError> {
        match self {
            Self::Store(local) => {
                let found = local.catalog.dataset(local.project.clone(), name.to_owned()).await?;
                Ok(found.is_some())
            }
            Self::Server(_) => Ok(false),
        }
    }
}

/// A turn as an item of a dataset: what the target was sent, and the answer it should have given.
/// The same turn is the same item.
pub fn item(turn: &TraceId, sent: &Value, expected: &str) -> NewDatasetItem {
    NewDatasetItem {
        id: Some(format!("turn-{turn}")),
        input: Some(Json::from_value(sent)),
        expected_output: Some(Json::from_value(&expected.into())),
        source_trace: Some(turn.to_string()),
        ..NewDatasetItem::default()
    }
}

/// Returns the turns of a chat, oldest first.
///
/// # Errors
/// Fails only when the database does.
pub async fn turns(
    store: &Store,
    project: &ProjectId,
    chat: &SessionId,
) -> Result<Vec<TargetTurn>, StoreError> {
    let query = TraceQuery {
        project: project.clone(),
        range: TimeRange::default(),
        conditions: vec![Condition::equals(TraceColumn::Session, chat.to_string())],
        order: (TraceOrder::Timestamp, Direction::Ascending),
        paging: Paging::After { cursor: None, limit: TURNS },
        detail: Detail::Content,
    };
    let traces = store.telemetry.traces(query).await?.rows;
    Ok(traces.iter().map(records::read).collect())
}

/// Returns what the target was sent in a turn.
///
/// # Errors
/// Fails if there is no such turn in the chat.
pub async fn sent_in(
    store: &Store,
    project: &ProjectId,
    (chat, turn): (&SessionId, &TraceId),
) -> Result<Value, TurnError> {
    let missing = || TurnError::NoTurn(turn.to_string());
    let trace = store.telemetry.trace(project.clone(), turn.clone()).await?;
    let trace = trace.filter(|trace| trace.session.as_ref() == Some(chat)).ok_or_else(missing)?;
    let query = ObservationQuery {
        project: project.clone(),
        range: TimeRange::default(),
        trace: Some(trace.id),
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: 1 },
        detail: Detail::Content,
    };
    let root = store.telemetry.observations(query).await?.rows.into_iter().next();
    let input = root.and_then(|root| root.content?.input).ok_or_else(missing)?;
    serde_json::from_str(input.as_str()).map_err(|_| missing())
}
