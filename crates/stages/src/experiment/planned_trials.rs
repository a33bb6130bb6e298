use std::collections::BTreeSet;

use ratchet_core::experiment::plan::{AddedRepeats, ExperimentPlan, ExperimentProgress};
use ratchet_core::experiment::trial::{cache_key, trial_id};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{DatasetItem, ExperimentRun, NewTrial, RunExtension};

use super::service::{
    ExperimentError, ExperimentService, MAX_REPEATS, ServiceResult, TrialPayload, invalid,
    payload_of, plan_of,
};
use super::views::view;

/// The most trials of a run.
const MAX_TRIALS: usize = 1_000_000;
/// Trials read at a time.
const SLICE: u64 = 1_000;

/// Returns the trials that a run starts with.
pub(super) fn first(
    run: &str,
    request: &ExperimentPlan,
    items: &[DatasetItem],
) -> ServiceResult<Vec<NewTrial>> {
    if items.is_empty() {
        let hint =
            if request.filter.is_some() { "no item matches the filter" } else { "it has no items" };
        return Err(invalid("dataset", format!("{}: {hint}", request.dataset)));
    }
    check_count(items.len(), request.repeats)?;
    let mut trials = Vec::new();
    for repeat in 1..=request.repeats {
        for (position, item) in items.iter().enumerate() {
            trials.push(trial((run, request), (repeat, position), item)?);
        }
    }
    Ok(trials)
}

fn check_count(items: usize, repeats: u32) -> ServiceResult<()> {
    if items.saturating_mul(repeats as usize) > MAX_TRIALS {
        return Err(invalid("repeats", format!("a run has at most {MAX_TRIALS} trials")));
    }
    Ok(())
}

fn trial(
    (run, plan): (&str, &ExperimentPlan),
    (repeat, position): (u32, usize),
    item: &DatasetItem,
) -> ServiceResult<NewTrial> {
    let input = item.input.as_ref().map_or("null", Json::as_str);
    let payload = TrialPayload {
        item: item.id.clone(),
        version: item.valid_from.nanos(),
        repeat,
        cache: plan.cache.then(|| cache_key(&plan.target.fingerprint, input, repeat)),
    };
    let payload = serde_json::to_string(&payload);
    let payload = payload.map_err(|why| invalid("dataset", why.to_string()))?;
    Ok(NewTrial { id: trial_id(run, repeat, position), payload })
}

impl ExperimentService {
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
        let mut trials = Vec::new();
        for (position, item) in &items {
            for repeat in 2..=request.repeats {
                trials.push(trial((&run.id, &plan), (repeat, *position), item)?);
            }
        }
        let repeats = Some(request.repeats.max(plan.repeats)).filter(|_| request.items.is_empty());
        let extension = RunExtension { run: run.id, repeats, trials };
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
    ) -> ServiceResult<Vec<(usize, DatasetItem)>> {
        let (mut items, mut cursor, mut position) = (Vec::new(), None, 0);
        let mut missing: BTreeSet<&String> = only.iter().collect();
        'pages: loop {
            let page = (cursor, SLICE);
            let jobs = self.catalog.trials(self.project.clone(), run.id.clone(), page).await?;
            for job in &jobs {
                let payload = payload_of(job)?;
                // Ids sort by repeat: the first repeat has every item once.
                if payload.repeat > 1 {
                    break 'pages;
                }
                if only.is_empty() || missing.remove(&payload.item) {
                    items.push((position, self.item(&payload).await?));
                }
                position += 1;
            }
            let is_last = (jobs.len() as u64) < SLICE;
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
