//! From a body to the disk. The answer is written after the commit.

use ratchet_core::record::semantic_conventions::Sender;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::events::{EventOutcome, EventPatches, Rules, Submitter};
use ratchet_stages::record::{self, Arrival, text_bytes_before_rules};
use ratchet_store::catalog::Role;
use ratchet_store::telemetry::Prepared;
use ratchet_store::telemetry::{Batch, Telemetry};

use super::review_scope::{self, ReviewedScores};
use crate::app::App;
use crate::auth::{EventScope, Scorer};
use crate::body::{Received, Weight};
use crate::error::{ApiError, ApiResult};

/// Scores in one request with a public key alone: the rate of such callers counts requests.
const MAX_PUBLIC_SCORES: usize = 20;

/// What there is to know while a body is read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// What the sender may send.
    pub(super) rules: Rules,
    /// How many events a body may hold.
    pub(super) batch_len: usize,
    pub(super) received_at: Timestamp,
}

impl Reading {
    /// Refuses a body that holds too much.
    ///
    /// # Errors
    /// 413, with the limit.
    pub(super) fn check_len(&self, len: usize) -> ApiResult<()> {
        let limit = self.batch_len;
        if len <= limit {
            return Ok(());
        }
        Err(ApiError::TooLarge(format!("{len} events in one request, at most {limit} are taken")))
    }
}

/// Records what a body says, and returns what became of each event and whatever else was read.
///
/// # Errors
/// 400 or 413 if the body as a whole makes no sense; 503 if it cannot be written now.
pub(super) async fn deliver<T: Send + 'static>(
    app: &App,
    scorer: Scorer,
    received: Received,
    interpret: fn(&str, &Reading) -> ApiResult<(EventPatches, T)>,
) -> ApiResult<(Vec<EventOutcome>, T)> {
    let limits = &app.settings.limits;
    let settings = app.store.catalog.recording_settings(&scorer.caller.project).await?;
    let received_at = app.clock.now();
    let project = scorer.caller.project.clone();
    let (submitter, batch_len) = match scorer.reach {
        EventScope::All if scorer.caller.role == Role::IngestOnly => {
            (Submitter::Recorder, limits.batch_len)
        }
        EventScope::All | EventScope::Reviews => (Submitter::Keyed, limits.batch_len),
        EventScope::Scores => {
            (Submitter::Public { project: project.to_string(), received_at }, MAX_PUBLIC_SCORES)
        }
    };
    let reading = Reading {
        rules: Rules {
            submitter,
            text_bytes: text_bytes_before_rules(&settings, limits.text_bytes),
            depth: limits.depth,
            score_configs: settings.score_configs.clone(),
        },
        batch_len,
        received_at,
    };
    let arrival = Arrival {
        project: scorer.caller.project.clone(),
        sender: Sender::default(),
        received_at: reading.received_at,
        settings,
        text_bytes: limits.text_bytes,
    };
    let worker = app.clone();
    let reviewer = scorer.caller.reviewed_person()?.map(str::to_owned);
    let (prepared, outcomes, (rest, reviewed)) = received
        .parse_json(app, Weight::Texts, move |text| {
            let (mut statements, rest) = interpret(text, &reading)?;
            if let Some(person) = &reviewer {
                review_scope::sign(&mut statements, person);
            }
            let says_something = !statements.is_empty();
            let reviewed = reviewer.is_some().then(|| ReviewedScores::of(&statements));
            let (prepared, outcomes) = prepare(&worker.store.telemetry, statements, &arrival);
            Ok((says_something.then_some(prepared), outcomes, (rest, reviewed)))
        })
        .await?;
    if let Some(reviewed) = reviewed {
        reviewed.check(app, &scorer.caller).await?;
    }
    if let Some(prepared) = prepared {
        let began = app.clock.monotonic();
        record::commit(&app.store.telemetry, &app.store.catalog, prepared).await?;
        app.metrics.observe_commit(app.clock.monotonic().saturating_duration_since(began));
    }
    Ok((outcomes, rest))
}

/// Gets statements ready for [`record::commit`]. Takes real CPU time.
fn prepare(
    telemetry: &Telemetry,
    statements: EventPatches,
    arrival: &Arrival,
) -> (Prepared, Vec<EventOutcome>) {
    let EventPatches { traces, observations, scores, outcomes, is_in_order } = statements;
    let empty = Batch::new(arrival.project.clone(), arrival.received_at);
    let batch = Batch { traces, observations, scores, ..empty };
    let prepared = record::prepare(telemetry, batch, arrival);
    (if is_in_order { prepared.in_order() } else { prepared }, outcomes)
}
