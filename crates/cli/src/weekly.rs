//! A week from its sessions to whoever is told: what `ratchet week` and schedules both do.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ratchet_core::calendar::Week;
use ratchet_core::label::DATASET;
use ratchet_core::learnings;
use ratchet_core::rubric::Rubric;
use ratchet_core::suggestion::{Progress, Suggestion, Templates};
use ratchet_remote::hook::Hook;
use ratchet_remote::langfuse::client::Between;
use ratchet_remote::langfuse::client::pace::SystemPace;
use ratchet_stages::score::fetch::{Sieve, Wanted};
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::{self, Again, Keeping, ScoringDesk};
use ratchet_stages::trust::panel;
use ratchet_stages::week::{self, WeekDone, WeekRequest};
use ratchet_store::catalog::ReportEffect;
use uuid::Uuid;

/// Traces that a session of the week must have.
const MIN_TRACES: u64 = 3;
/// A session that has been quiet for so long is ready, in nanoseconds.
const IDLE: i64 = 30 * 60 * 1_000_000_000;
/// Sessions judged at once.
const AT_ONCE: usize = 4;

/// What is to be done about a week.
#[derive(Debug)]
pub(crate) struct Weekly {
    /// Which week.
    pub(crate) week: Week,
    /// By which rubric.
    pub(crate) rubric: Rubric,
    /// Who judges; nobody if the scores that are there will do.
    pub(crate) judge: Option<Judge>,
    /// What suggestions are made from.
    pub(crate) templates: Templates,
    /// The file that suggestions are added to.
    pub(crate) learnings: Option<PathBuf>,
    /// Who is told.
    pub(crate) hooks: Vec<Hook>,
    /// Names the run; never used before.
    pub(crate) run: String,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Told {
    /// The report.
    pub(crate) done: WeekDone,
    /// Sessions that were scored now.
    pub(crate) scored: usize,
    /// Sessions that could not be.
    pub(crate) failed: usize,
}

impl Told {
    /// What came of it, in a line.
    pub(crate) fn line(&self) -> String {
        let effect = match self.done.saved.effect {
            ReportEffect::Made => "a new report",
            ReportEffect::Changed => "the report has changed",
            ReportEffect::Same => "the report is as it was",
        };
        let report = &self.done.report;
        format!(
            "week {}: {} sessions scored now, {} failed, {effect}; {}",
            report.week,
            self.scored,
            self.failed,
            report.headline()
        )
    }
}

impl Weekly {
    /// Does it: fetch, score, synthesize, suggest, report, tell.
    pub(crate) async fn run(&self, desk: &ScoringDesk<'_>) -> anyhow::Result<Told> {
        let request = WeekRequest {
            week: self.week.clone(),
            rubric: self.rubric.clone(),
            templates: self.templates.clone(),
        };
        let (scored, failed) = match &self.judge {
            Some(judge) => self.score(desk, judge.clone()).await?,
            None => (0, 0),
        };
        if let Some(judge) = &self.judge {
            self.sit(desk, judge.clone()).await?;
        }
        let done = week::report_at(desk, &request).await?;
        if let Some(file) = &self.learnings {
            append(file, &done)?;
        }
        for hook in &self.hooks {
            hook.tell(&done.report, &SystemPace).await?;
        }
        Ok(Told { done, scored, failed })
    }

    /// Has the judge see its panel again, so that the report can say whether it has drifted.
    async fn sit(&self, desk: &ScoringDesk<'_>, judge: Judge) -> anyhow::Result<()> {
        let request = score::Request {
            run: Uuid::new_v4().to_string(),
            rubric: self.rubric.clone(),
            judge,
            wanted: Wanted::These(Vec::new()),
            again: Again::Always,
            keeping: Keeping::Anew,
            at_once: AT_ONCE,
            batch: None,
        };
        panel::sit(desk, DATASET, &request).await?;
        Ok(())
    }

    async fn score(&self, desk: &ScoringDesk<'_>, judge: Judge) -> anyhow::Result<(usize, usize)> {
        let between = Between { from: Some(self.week.start()), to: Some(self.week.end()) };
        let request = score::Request {
            run: self.run.clone(),
            rubric: self.rubric.clone(),
            judge,
            wanted: Wanted::Active(Sieve {
                between,
                min_traces: MIN_TRACES,
                idle_nanos: IDLE,
                user: None,
                environment: None,
                tag: None,
                sample: None,
            }),
            again: Again::IfGrown,
            keeping: Keeping::Write,
            at_once: AT_ONCE,
            batch: None,
        };
        let report = score::run(desk, &request).await?;
        Ok((report.sessions.len(), report.failed.len()))
    }
}

/// The judge of that name; nobody for `none`.
pub(crate) fn judge(name: &str) -> anyhow::Result<Option<Judge>> {
    match name {
        "none" => Ok(None),
        "offline" => Ok(Some(Judge::Offline)),
        other => anyhow::bail!("there is no judge {other} for a week; there are offline and none"),
    }
}

/// The texts that suggestions are made from: the user's in `<data>/prompts`, then our own.
pub(crate) fn templates(data: &Path) -> anyhow::Result<Templates> {
    let file = data.join("prompts").join("suggestions.toml");
    match std::fs::read_to_string(&file) {
        Ok(text) => Templates::with_overrides(&text)
            .with_context(|| format!("{} has a mistake", file.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Templates::shipped()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Adds what is new to the file, all of it or nothing: another file takes its place.
fn append(file: &Path, done: &WeekDone) -> anyhow::Result<()> {
    let wrong = || format!("cannot add to {}", file.display());
    let is_wanted = |suggestion: &&Suggestion| {
        let kept = done.saved.suggestions.iter();
        let mut kept = kept.filter(|kept| kept.suggestion.key == suggestion.key);
        kept.all(|kept| kept.progress != Progress::Dismissed)
    };
    let wanted: Vec<Suggestion> =
        done.report.suggestions.iter().filter(is_wanted).cloned().collect();
    // Through a link to the file itself, so that the link stays one.
    let file = match std::fs::canonicalize(file) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(error).with_context(wrong),
    };
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(wrong),
    };
    let Some(after) = learnings::appended(&before, &done.report.week, &wanted) else {
        return Ok(());
    };
    replace(&file, &after).with_context(wrong)
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = || -> io::Result<()> {
        let mut new = std::fs::File::create(&beside)?;
        new.write_all(text.as_bytes())?;
        if let Ok(known) = std::fs::metadata(file) {
            new.set_permissions(known.permissions())?;
        }
        new.sync_all()?;
        std::fs::rename(&beside, file)
    };
    written().inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
