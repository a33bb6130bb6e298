//! A week from its sessions to whoever is told: what `ratchet week` and schedules both do.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use ratchet_core::calendar::Week;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::label::DATASET;
use ratchet_core::quality::learnings;
use ratchet_core::quality::suggestion::{Progress, Suggestion, Templates, advice};
use ratchet_remote::langfuse::client::TimeWindow;
use ratchet_remote::langfuse::client::backoff_clock::SystemBackoffClock;
use ratchet_remote::webhook::Webhook;
use ratchet_stages::review::panel;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::select_sessions::{SessionCriteria, SessionFilter};
use ratchet_stages::score::{self, Rescore, ScoringContext, WritePolicy};
use ratchet_stages::user_files;
use ratchet_stages::weekly_report;
use ratchet_stages::weekly_report::{ReportStore, SuggestionModel, WeekDone, WeekRequest};
use ratchet_store::catalog::{ReportEffect, RunOutcome};
use uuid::Uuid;

/// Traces that a session of the week must have.
const MIN_TRACES: u64 = 3;
/// A session that has been quiet for so long is ready, in nanoseconds.
const IDLE: i64 = 30 * 60 * 1_000_000_000;
/// Sessions judged at once, unless someone says how many.
pub(crate) const AT_ONCE: usize = 4;

/// What is to be done about a week.
#[derive(Debug)]
pub(crate) struct Weekly {
    pub(crate) week: Week,
    pub(crate) rubric: Rubric,
    /// Who judges; nobody if the scores that are there will do.
    pub(crate) judge: Option<Judge>,
    pub(crate) at_once: usize,
    /// Whether questions are handed in together, and how often one looks for answers then.
    pub(crate) batch: Option<Duration>,
    /// What suggestions are made from where no model makes them.
    pub(crate) templates: Templates,
    /// What a model is told that makes them.
    pub(crate) words: String,
    /// The file that suggestions are added to.
    pub(crate) learnings: Option<PathBuf>,
    pub(crate) hooks: Vec<Webhook>,
    pub(crate) outbound: OutboundPolicy,
    /// Names the run; never used before.
    pub(crate) run: String,
}

#[derive(Debug)]
pub(crate) struct WeekDelivery {
    pub(crate) done: WeekDone,
    /// What was scored for it.
    pub(crate) scoring: WeekScored,
}

/// What was scored for a report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WeekScored {
    /// Sessions that were scored now.
    pub(crate) scored: usize,
    /// Sessions that could not be.
    pub(crate) failed: usize,
    pub(crate) cost: Money,
    /// Whether the budget ended before the sessions did.
    pub(crate) is_cut: bool,
}

impl WeekDelivery {
    /// What all that was asked for it cost.
    pub(crate) fn cost(&self) -> Money {
        self.scoring.cost + self.done.advice_cost
    }

    /// What came of it, in a line.
    pub(crate) fn line(&self) -> String {
        let effect = match self.done.saved.effect {
            ReportEffect::Made => "new report",
            ReportEffect::Changed => "report updated",
            ReportEffect::Same => "report unchanged",
        };
        let WeekScored { scored, failed, is_cut, .. } = self.scoring;
        let cost = self.cost();
        let cost = if cost > Money::ZERO { format!(" for {cost}") } else { String::new() };
        let cut = if is_cut { "budget exhausted, the next run continues, " } else { "" };
        let (week, headline) = (&self.done.report.week, self.done.report.headline());
        let note = self.done.report.advice.note.as_deref();
        let note = note.map(|note| format!(" {note}.")).unwrap_or_default();
        format!(
            "week {week}: {scored} sessions scored{cost}, {failed} failed, {cut}{effect}; \
             {headline}{note}"
        )
    }
}

impl Weekly {
    /// Does it: fetch, score, synthesize, suggest, report, tell.
    pub(crate) async fn run(
        &self,
        desk: &ScoringContext<'_>,
        archive: ReportStore<'_>,
    ) -> anyhow::Result<WeekDelivery> {
        let request = WeekRequest {
            week: self.week.clone(),
            rubric: self.rubric.clone(),
            templates: self.templates.clone(),
            adviser: self.adviser(),
        };
        let scoring = match &self.judge {
            // In boxes: scoring and asking are the deepest futures there are.
            Some(judge) => Box::pin(self.score(desk, judge.clone())).await?,
            None => WeekScored::default(),
        };
        if let Some(judge) = &self.judge {
            Box::pin(self.rejudge_panel(desk, judge.clone())).await?;
        }
        let place = (desk.source, desk.sink);
        let done =
            Box::pin(weekly_report::report(place, archive, &request, (desk.clock)())).await?;
        if let Some(file) = &self.learnings {
            append(file, &done)?;
        }
        for hook in &self.hooks {
            hook.tell(&done.report, &self.outbound, &SystemBackoffClock).await?;
        }
        Ok(WeekDelivery { done, scoring })
    }

    /// Has the judge see its panel again, so that the report can say whether it has drifted.
    async fn rejudge_panel(&self, desk: &ScoringContext<'_>, judge: Judge) -> anyhow::Result<()> {
        let request = score::Request {
            run: Uuid::new_v4().to_string(),
            rubric: self.rubric.clone(),
            judge,
            wanted: SessionFilter::These(Vec::new()),
            again: Rescore::Always,
            keeping: WritePolicy::Anew,
            at_once: AT_ONCE,
            batch: None,
        };
        panel::rejudge_panel(desk, DATASET, &request).await?;
        Ok(())
    }

    /// A model that judges is also asked what to change.
    fn adviser(&self) -> Option<SuggestionModel> {
        match &self.judge {
            Some(Judge::Model(judge)) => {
                let (judge, words) = (judge.clone(), self.words.clone());
                Some(SuggestionModel { judge, words })
            }
            Some(Judge::Offline | Judge::OwnSignals(_) | Judge::HandedIn(_)) | None => None,
        }
    }

    async fn score(&self, desk: &ScoringContext<'_>, judge: Judge) -> anyhow::Result<WeekScored> {
        let between = TimeWindow { from: Some(self.week.start()), to: Some(self.week.end()) };
        let request = score::Request {
            run: self.run.clone(),
            rubric: self.rubric.clone(),
            judge,
            wanted: SessionFilter::Active(SessionCriteria {
                between,
                min_traces: MIN_TRACES,
                idle_nanos: IDLE,
                user: None,
                environment: None,
                tag: None,
                sample: None,
            }),
            again: Rescore::IfGrown,
            keeping: WritePolicy::Write,
            at_once: self.at_once,
            batch: self.batch,
        };
        let report = score::run(desk, &request).await?;
        let is_cut = report.outcome == RunOutcome::Stopped;
        // A report of what happened to be judged by now would pass for one of the week.
        ensure!(
            !(is_cut && (desk.is_stopping)()),
            "stopped before all sessions of the week were scored; run the same command to continue"
        );
        let (scored, failed) = (report.sessions.len(), report.failed.len());
        Ok(WeekScored { scored, failed, cost: report.tally.cost, is_cut })
    }
}

/// The texts that suggestions are made from: the user's in `<data>/prompts`, then our own.
pub(crate) fn templates(data: &Path) -> anyhow::Result<Templates> {
    let file = data.join("prompts").join("suggestions.toml");
    match std::fs::read_to_string(&file) {
        Ok(text) => Templates::with_overrides(&text)
            .with_context(|| format!("{} is not valid", file.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Templates::shipped()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// What a model is told that makes suggestions: the user's words in `<data>/prompts`, or ours.
pub(crate) fn words(data: Option<&Path>) -> anyhow::Result<String> {
    Ok(user_files::prompt(data, advice::FILE, advice::SHIPPED)?)
}

/// Adds what is new to the file, all of it or nothing: another file takes its place.
fn append(file: &Path, done: &WeekDone) -> anyhow::Result<()> {
    let wrong = || format!("cannot append to {}", file.display());
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
