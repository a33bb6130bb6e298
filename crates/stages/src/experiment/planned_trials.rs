use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use ratchet_core::experiment::plan::{AddedRepeats, ExperimentPlan, ExperimentProgress};
use ratchet_core::experiment::trial::{cache_key, trial_id};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{DatasetItemHead, ExperimentRun, NewTrial, RunExtension};

use super::service::{
    ExperimentError, ExperimentService, MAX_REPEATS, ServiceResult, TrialPayload, invalid,
    payload_of, plan_of,
};
use super::views::view;

/// The most trials of a run: they are enqueued in one transaction, for which others wait, and a gate
/// reads no more (ADR 152).
pub(super) const MAX_TRIALS: usize = 100_000;
/// Trials read or written at a time.
const SLICE: usize = 1_000;

/// A dataset item in the version that a run has.
#[derive(Clone, Debug)]
struct PlannedItem {
    position: usize,
    id: String,
    version: Timestamp,
}

fn check_count(items: usize, repeats: u32) -> ServiceResult<()> {
    if items.saturating_mul(repeats as usize) > MAX_TRIALS {
        return Err(invalid("repeats", format!("a run has at most {MAX_TRIALS} trials")));
    }
    Ok(())
}

/// The trials of an item. `cached` is the version of the target and the input, if answers are cached.
fn trials_of(
    run: &str,
    item: &PlannedItem,
    repeats: RangeInclusive<u32>,
    cached: Option<&(String, String)>,
) -> ServiceResult<Vec<NewTrial>> {
    let trial = |repeat| {
        let payload = TrialPayload {
            item: item.id.clone(),
            version: item.version.nanos(),
            repeat,
            cache: cached.map(|(version, input)| cache_key(version, input, repeat)),
        };
        let payload = serde_json::to_string(&payload);
        let payload = payload.map_err(|why| invalid("dataset", why.to_string()))?;
        Ok(NewTrial { id: trial_id(run, repeat, item.position), payload })
    };
    repeats.map(trial).collect()
}

impl ExperimentService {
    /// Returns the trials that a run starts with.
    pub(super) async fn first_trials(
        &self,
        run: &str,
        request: &ExperimentPlan,
        items: Vec<DatasetItemHead>,
    ) -> ServiceResult<Vec<NewTrial>> {
        if items.is_empty() {
            let hint = match request.filter {
                Some(_) => "no item matches the filter",
                None => "it has no items",
            };
            return Err(invalid("dataset", format!("{}: {hint}", request.dataset)));
        }
        check_count(items.len(), request.repeats)?;
        let planned = |(position, item): (usize, DatasetItemHead)| PlannedItem {
            position,
            id: item.id,
            version: item.valid_from,
        };
        let items: Vec<_> = items.into_iter().enumerate().map(planned).collect();
        self.planned((run, request), &items, 1..=request.repeats).await
    }

    /// The trials of some items, some at a time and off the async threads. Inputs are read one by
    /// one, and only for the keys of cached answers.
    async fn planned(
        &self,
        (run, plan): (&str, &ExperimentPlan),
        items: &[PlannedItem],
        repeats: RangeInclusive<u32>,
    ) -> ServiceResult<Vec<NewTrial>> {
        let mut trials = Vec::new();
        for group in items.chunks(if plan.cache { 1 } else { SLICE }) {
            let cached = match group {
                [item] if plan.cache => {
                    Some((plan.target.fingerprint.clone(), self.input_of(item).await?))
                }
                _ => None,
            };
            let (run, group, repeats) = (run.to_owned(), group.to_vec(), repeats.clone());
            let all = move || -> ServiceResult<Vec<Vec<NewTrial>>> {
                let of = |item| trials_of(&run, item, repeats.clone(), cached.as_ref());
                group.iter().map(of).collect()
            };
            trials.extend(run_blocking(all).await??.into_iter().flatten());
        }
        Ok(trials)
    }

    async fn input_of(&self, item: &PlannedItem) -> ServiceResult<String> {
        let (project, id) = (self.project.clone(), item.id.clone());
        let found = self.catalog.dataset_item(project, id, Some(item.version)).await?;
        let input = found.and_then(|item| item.input);
        Ok(input.as_ref().map_or("null", Json::as_str).to_owned())
    }

    /// Adds repeats to a run, with the versions of items that it started with. The same request
    /// again adds nothing.
    ///
    /// # Errors
    /// Fails on invalid fields, without such a run, and if it is cancelled.
    pub async fn extend(
        &self,
        run: &str,
        request: AddedRepeats,
        now: Timestamp,
    ) -> ServiceResult<ExperimentProgress> {
        if !(1..=MAX_REPEATS).contains(&request.repeats) {
            return Err(invalid("repeats", format!("must be from 1 to {MAX_REPEATS}")));
        }
        let run = self.find(run).await?;
        if run.state == "cancelled" {
            let why = format!("run {} is cancelled; start another one", run.name);
            return Err(ExperimentError::Conflict(why));
        }
        let items = self.items_of(&run, &request.items).await?;
        check_count(items.len(), request.repeats)?;
        let plan = plan_of(&run)?;
        let trials = self.planned((&run.id, &plan), &items, 2..=request.repeats).await?;
        let repeats = Some(request.repeats.max(plan.repeats)).filter(|_| request.items.is_empty());
        let max_trials = MAX_TRIALS as u64;
        let extension = RunExtension { run: run.id, repeats, trials, max_trials };
        let project = self.project.clone();
        let run = self.catalog.extend_experiment_run(project, extension, now).await?;
        let name = self.dataset_name(&run).await?;
        Ok(view(&run, &name))
    }

    /// Items of a run with their positions, in the versions that it has; all if none is named.
    async fn items_of(
        &self,
        run: &ExperimentRun,
        only: &[String],
    ) -> ServiceResult<Vec<PlannedItem>> {
        let (mut items, mut cursor, mut position) = (Vec::new(), None, 0);
        let mut missing: BTreeSet<&String> = only.iter().collect();
        'pages: loop {
            let page = (cursor, SLICE as u64);
            let jobs = self.catalog.trials(self.project.clone(), run.id.clone(), page).await?;
            for job in &jobs {
                let payload = payload_of(job)?;
                // Ids sort by repeat: the first repeat has every item once.
                if payload.repeat > 1 {
                    break 'pages;
                }
                if only.is_empty() || missing.remove(&payload.item) {
                    let version = Timestamp::from_nanos(payload.version);
                    items.push(PlannedItem { position, id: payload.item, version });
                }
                position += 1;
            }
            let is_last = jobs.len() < SLICE;
            cursor = jobs.last().map(|job| job.id.clone());
            if is_last {
                break;
            }
        }
        match missing.first() {
            Some(item) => Err(invalid("items", format!("the run has no item {item}"))),
            None => Ok(items),
        }
    }
}
