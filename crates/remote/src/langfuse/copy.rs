//! Copies the records of another server; repeatable and resumable.
//!
//! The copy moves in slices. After each, the checkpoint holds the progress; a caller that saves the
//! checkpoint can stop at any moment and lose a slice of work at most. Records keep their ids, so
//! that a slice that is copied twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::langfuse::client::{ClientError, LangfuseClient, Position, Slice, TimeWindow};
use crate::langfuse::wire::ingestion::Envelope;
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Prompts, and what else a project keeps besides telemetry.
mod catalog;
/// Datasets, their items and their runs.
mod datasets;
/// The media that records refer to.
mod media;
mod queues_comments;
/// Events in requests of a bearable size.
mod deliver;

use media::MediaCopy;

pub use datasets::traces_of_runs;
pub use deliver::Refused;

/// One kind of record to be copied, in the order of the copy: what others refer to comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CopyPart {
    ScoreConfigs,
    /// What models cost, where the project says so itself.
    Models,
    /// Prompts with their versions and labels.
    Prompts,
    Datasets,
    /// Traces, and with them sessions.
    Traces,
    Observations,
    DatasetRuns,
    Scores,
    /// Annotation queues with what is in them.
    Queues,
    Comments,
}

impl CopyPart {
    /// Every part, in the order of the copy.
    pub const ALL: [Self; 10] = [
        Self::ScoreConfigs,
        Self::Models,
        Self::Prompts,
        Self::Datasets,
        Self::Traces,
        Self::Observations,
        Self::DatasetRuns,
        Self::Scores,
        Self::Queues,
        Self::Comments,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ScoreConfigs => "score configs",
            Self::Models => "models",
            Self::Prompts => "prompts",
            Self::Datasets => "datasets",
            Self::DatasetRuns => "dataset runs",
            Self::Traces => "traces",
            Self::Observations => "observations",
            Self::Scores => "scores",
            Self::Queues => "queues",
            Self::Comments => "comments",
        }
    }
}

/// How far a copy has come. Users keep it as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The server that is copied from.
    pub from: String,
    /// The project there, by the public half of its key.
    pub key: String,
    /// The time before which records are left out, as text.
    pub since: Option<String>,
    /// The time from which records are left to the next copy, as text.
    pub until: String,
    /// Where to go on in each part; a part that is not there has not begun.
    pub parts: BTreeMap<CopyPart, PartProgress>,
    /// The ids that score configs have got here, by their ids there.
    pub score_configs: BTreeMap<String, String>,
    /// The ids that runs of datasets have got here, by their ids there.
    #[serde(default)]
    pub dataset_runs: BTreeMap<String, String>,
}

/// How far one part has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartProgress {
    /// Where to go on; `None` when it is done.
    pub next: Option<Position>,
    pub read: u64,
    /// Records in all, where the server says so.
    pub total: Option<u64>,
    /// Records that were not there yet, or may have changed.
    pub recorded: u64,
    /// Records that were not taken, or made no sense.
    pub refused: u64,
}

impl Checkpoint {
    /// Returns whether every part is copied.
    pub fn is_done(&self) -> bool {
        let is_done =
            |part: &CopyPart| self.parts.get(part).is_some_and(|part| part.next.is_none());
        CopyPart::ALL.iter().all(is_done)
    }

    /// The time that the copy is about.
    ///
    /// # Errors
    /// Fails if someone has changed the file by hand and got a time wrong.
    pub fn between(&self) -> Result<TimeWindow, CopyError> {
        let time = |text: &String| {
            Timestamp::parse(text).map_err(|_| CopyError::Checkpoint { text: text.clone() })
        };
        let from = self.since.as_ref().map(time).transpose()?;
        Ok(TimeWindow { from, to: Some(time(&self.until)?) })
    }
}

/// Why a copy stopped.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A server could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The checkpoint makes no sense.
    #[error("the checkpoint holds {text}, which is no time; remove it to begin anew")]
    Checkpoint { text: String },
    /// The checkpoint could not be saved.
    #[error("cannot save the checkpoint")]
    Keep(#[source] std::io::Error),
}

/// Progress callbacks of a copy.
pub trait CopyProgress {
    /// A slice is recorded: save the checkpoint and report progress.
    ///
    /// # Errors
    /// Ends the copy.
    fn advanced(&mut self, part: CopyPart, checkpoint: &Checkpoint) -> std::io::Result<()>;

    /// A record was left out.
    fn refused(&mut self, part: CopyPart, refused: &Refused);
}

/// The servers of a copy.
#[derive(Debug)]
pub struct Route<'a> {
    /// The server that is copied from.
    pub from: &'a LangfuseClient,
    /// The server that records; `None` to read only and record nothing.
    pub into: Option<&'a LangfuseClient>,
}

/// Copies all that the checkpoint has not done yet.
///
/// # Errors
/// Fails if either server cannot be asked. The checkpoint then says where to go on.
pub async fn copy(
    route: &Route<'_>,
    checkpoint: &mut Checkpoint,
    witness: &mut dyn CopyProgress,
) -> Result<(), CopyError> {
    let mut media = BTreeSet::new();
    for part in CopyPart::ALL {
        let begun = PartProgress { next: Some(Position::Start), ..PartProgress::default() };
        let mut progress = checkpoint.parts.get(&part).cloned().unwrap_or(begun);
        while let Some(at) = progress.next.take() {
            let work = Work { route, part, at: &at };
            let left_out = work.copy(checkpoint, &mut progress, &mut media).await?;
            left_out.iter().for_each(|refused| witness.refused(part, refused));
            checkpoint.parts.insert(part, progress.clone());
            witness.advanced(part, checkpoint).map_err(CopyError::Keep)?;
        }
    }
    Ok(())
}

/// One slice of one part.
struct Work<'a> {
    route: &'a Route<'a>,
    part: CopyPart,
    at: &'a Position,
}

impl Work<'_> {
    /// Copies the slice and returns what was left out.
    async fn copy(
        &self,
        checkpoint: &mut Checkpoint,
        progress: &mut PartProgress,
        media: &mut BTreeSet<String>,
    ) -> Result<Vec<Refused>, CopyError> {
        let Self { route, part, at } = *self;
        match part {
            CopyPart::ScoreConfigs => catalog::score_configs(route, checkpoint, progress, at).await,
            CopyPart::Models => {
                catalog::models(route, progress, at).await?;
                Ok(Vec::new())
            }
            CopyPart::Prompts => catalog::prompts(route, progress).await,
            CopyPart::Datasets => datasets::datasets(route, progress, at, media).await,
            CopyPart::DatasetRuns => datasets::runs(route, checkpoint, progress, at).await,
            CopyPart::Queues => queues_comments::queues(route, checkpoint, progress).await,
            CopyPart::Comments => queues_comments::comments(route, progress).await,
            CopyPart::Traces | CopyPart::Observations | CopyPart::Scores => {
                let between = checkpoint.between()?;
                let slice = read(route.from, part, &between, at).await?;
                // First, so that whatever records them knows that they are there.
                let unsent = match route.into {
                    None => Vec::new(),
                    Some(into) => {
                        let events = slice.rows.iter().flatten();
                        MediaCopy::new(route.from, into, media).of_events(events).await?
                    }
                };
                let mut left_out = record(route, slice, checkpoint, progress).await?;
                progress.refused += unsent.len() as u64;
                left_out.extend(unsent);
                Ok(left_out)
            }
        }
    }
}

async fn read(
    from: &LangfuseClient,
    part: CopyPart,
    between: &TimeWindow,
    at: &Position,
) -> Result<Slice<Vec<Envelope>>, ClientError> {
    match part {
        CopyPart::Traces => from.trace_events(between, at).await,
        CopyPart::Scores => from.score_events(between, at).await,
        CopyPart::Observations
        | CopyPart::ScoreConfigs
        | CopyPart::Models
        | CopyPart::Prompts
        | CopyPart::Datasets
        | CopyPart::DatasetRuns
        | CopyPart::Queues
        | CopyPart::Comments => from.observation_events(between, at).await,
    }
}

async fn record(
    route: &Route<'_>,
    slice: Slice<Vec<Envelope>>,
    checkpoint: &Checkpoint,
    progress: &mut PartProgress,
) -> Result<Vec<Refused>, CopyError> {
    let unreadable = slice.unreadable.iter().map(Refused::unreadable);
    let mut left_out: Vec<Refused> = unreadable.collect();
    let records = slice.rows.len() as u64;
    if let Some(into) = route.into {
        let events = slice.rows.into_iter().flatten();
        let events = deliver::translated(events, checkpoint);
        left_out.extend(deliver::deliver(into, events).await?);
    }
    progress.next = slice.next;
    progress.total = slice.total;
    progress.read += records + slice.unreadable.len() as u64;
    progress.refused += left_out.len() as u64;
    let taken = (records + slice.unreadable.len() as u64).saturating_sub(left_out.len() as u64);
    progress.recorded += taken;
    Ok(left_out)
}
