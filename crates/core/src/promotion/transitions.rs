//! What each action does to a promotion.

use super::criteria::{Criterion, missing, not_second};
use super::evidence::{
    GateResult, ItemVerdicts, MAX_REASON_CHARS, PromotionEvidence, Signature, ToolTests, Waiver,
};
use super::policy::{Signer, people};
use super::state::{Action, Effect, Facts, Promotion, PromotionOutcome, PromotionState, Refused};
use super::watch::WatchResult;
use crate::gate::decision::Verdict;

impl Promotion {
    pub(super) fn act(&mut self, action: Action, facts: &Facts) -> Result<Done, Refused> {
        match action {
            Action::ToolTests(found) => self.tool_tests(found, facts),
            Action::Gate(found) => self.gate(found, facts),
            Action::Verdicts(found) => self.verdicts(found),
            Action::Review { by, note } => self.review((by, note), facts),
            Action::Waive { by, reason } => self.waive(by, &reason, facts),
            Action::Approve { by, note } => self.approve((by, note), facts),
            Action::ChangeVersion { version, by } => self.change_version(version, by),
            Action::Start => self.start(facts),
            Action::Deployed { attempt } => self.deployed(attempt, facts),
            Action::DeployFailed { attempt, why } => self.deploy_failed(attempt, &why),
            Action::NotDeployable { attempt, why } => self.not_deployable(attempt, &why),
            Action::Watched(found) => self.watched(found),
            Action::Confirm(found) => self.confirm(found, facts),
            Action::Rollback { by, reason } => self.rollback(&by, &reason, facts),
            Action::Supersede { by_promotion } => self.supersede(&by_promotion, facts),
            Action::Abandon => self.abandon(facts),
        }
    }

    fn collecting(&self, what: &str) -> Result<(), Refused> {
        if self.state.is_open() { Ok(()) } else { Err(self.wrong(what)) }
    }

    fn wrong(&self, what: &str) -> Refused {
        Refused::State { state: self.state.as_str(), why: what.to_owned() }
    }

    /// New evidence after a failed deployment: the promotion is assembled again.
    fn reopen(&mut self) {
        if self.state == PromotionState::Failed {
            self.state = PromotionState::Draft;
        }
    }

    fn tool_tests(&mut self, found: ToolTests, facts: &Facts) -> Result<Done, Refused> {
        self.collecting("evidence is not taken any more")?;
        if let (Some(tested), Some(tools)) = (&found.commit, &facts.tools)
            && tested != tools
        {
            let problem = format!("{tested} was tested, but the version has tools {tools}");
            return Err(Refused::Invalid { field: "commit", problem });
        }
        self.reopen();
        let line = format!("tool tests: {} of {} failed", found.failed, found.tests);
        self.evidence.tool_tests = Some(found);
        // People approved what they saw.
        self.evidence.approval = None;
        Ok(done(line))
    }

    fn gate(&mut self, found: GateResult, facts: &Facts) -> Result<Done, Refused> {
        self.collecting("evidence is not taken any more")?;
        if facts.dataset_version.is_some_and(|current| current != found.dataset_version) {
            return Err(Refused::Invalid {
                field: "gate",
                problem: format!(
                    "dataset {} changed since its run; run the gate again",
                    self.dataset
                ),
            });
        }
        self.reopen();
        let is_same_run = self.evidence.gate.as_ref().is_some_and(|gate| gate.run == found.run);
        if !is_same_run {
            self.evidence.void_run();
        }
        self.evidence.verdicts = None;
        self.evidence.approval = None;
        if found.verdict != Verdict::Inconclusive {
            self.evidence.waiver = None;
        }
        let line = format!("gate {}: {} on {}", found.gate, found.verdict.as_str(), found.run_name);
        self.evidence.gate = Some(found);
        Ok(done(line))
    }

    fn verdicts(&mut self, found: ItemVerdicts) -> Result<Done, Refused> {
        self.collecting("evidence is not taken any more")?;
        let is_current = self.evidence.gate.as_ref().is_some_and(|gate| gate.gate == found.gate);
        if !is_current || self.evidence.verdicts.as_ref() == Some(&found) {
            return Ok(Done::default());
        }
        if found.open_count > 0 {
            self.evidence.approval = None;
        }
        let line = format!("{} of {} items without a verdict", found.open_count, found.needed);
        self.evidence.verdicts = Some(found);
        Ok(done(line))
    }

    fn review(
        &mut self,
        (by, note): (Signer, Option<String>),
        facts: &Facts,
    ) -> Result<Done, Refused> {
        self.collecting("there is nothing to review")?;
        if self.evidence.gate.is_none() {
            return Err(self.wrong("there are no results to review yet; attach a gate first"));
        }
        self.must_be(&by, "the review of the results", &facts.responsible.owners())?;
        self.reopen();
        let line = format!("results reviewed by {}", by.name);
        self.evidence.review = Some(Signature { by, at: facts.now, note: checked_note(note)? });
        Ok(done(line))
    }

    fn waive(&mut self, by: Signer, reason: &str, facts: &Facts) -> Result<Done, Refused> {
        self.collecting("nothing is left to waive")?;
        let reason = checked_reason("reason", reason)?;
        match self.evidence.gate.as_ref().map(|gate| gate.verdict) {
            Some(Verdict::Inconclusive) => {}
            Some(Verdict::Block) => return Err(self.wrong("a blocked gate cannot be waived")),
            Some(Verdict::Pass) => return Err(self.wrong("the gate passed; nothing is to waive")),
            None => return Err(self.wrong("there is no gate to waive yet")),
        }
        self.must_be(&by, "waiving an inconclusive gate", &facts.responsible.owners())?;
        self.reopen();
        self.evidence.approval = None;
        let line = format!("inconclusive gate waived by {}: {reason}", by.name);
        self.evidence.waiver = Some(Waiver { by, reason, at: facts.now });
        Ok(done(line))
    }

    fn approve(
        &mut self,
        (by, note): (Signer, Option<String>),
        facts: &Facts,
    ) -> Result<Done, Refused> {
        self.collecting("it needs no approval any more")?;
        let responsible = &facts.responsible;
        self.must_be(&by, "approval", &responsible.approvers())?;
        if let Some(why) = not_second(&by, self, &responsible.policy) {
            let who = format!(
                "a second person: {why}, and {} approves",
                people(&responsible.approvers())
            );
            return Err(Refused::NotYours { what: "approval", who });
        }
        let mut open = missing(self, responsible);
        open.retain(|state| state.criterion != Criterion::Approval);
        if !open.is_empty() {
            return Err(Refused::Missing(open));
        }
        let note = checked_note(note)?;
        self.reopen();
        let line = format!("approved by {}", by.name);
        self.evidence.approval = Some(Signature { by, at: facts.now, note });
        Ok(done(line))
    }

    fn must_be(&self, by: &Signer, what: &'static str, named: &[String]) -> Result<(), Refused> {
        if by.is_one_of(named) {
            return Ok(());
        }
        Err(Refused::NotYours { what, who: people(named) })
    }

    fn change_version(&mut self, version: String, by: Signer) -> Result<Done, Refused> {
        self.collecting("its version cannot be changed any more")?;
        if version == self.version {
            return Ok(Done::default());
        }
        self.state = PromotionState::Draft;
        self.evidence = PromotionEvidence::default();
        let line = format!("version {} → {version}, evidence void", self.version);
        self.version = version;
        self.author = by;
        Ok(done(line))
    }

    fn start(&mut self, facts: &Facts) -> Result<Done, Refused> {
        self.collecting("it was started already")?;
        let open = missing(self, &facts.responsible);
        if !open.is_empty() {
            return Err(Refused::Missing(open));
        }
        let dataset = facts.responsible.policy.required_dataset(&self.agent);
        if let Some(dataset) = dataset.filter(|dataset| *dataset != self.dataset) {
            return Err(self.wrong(&format!(
                "the agent's policy demands a gate on {dataset}; create a promotion on that dataset"
            )));
        }
        if let Some(other) = &facts.deploying {
            return Err(self
                .wrong(&format!("promotion {other} of this agent deploys now; wait for its end")));
        }
        if !facts.responsible.policy.deploys {
            return Ok(self.go_live("started, without a deployment", facts));
        }
        if !facts.can_deploy {
            return Err(self.wrong(
                "the agent's policy deploys, but the server has none of promotion.command, \
                 promotion.agentcore and promotion.webhook; ask its operator",
            ));
        }
        self.attempts = self.attempts.saturating_add(1);
        self.state = PromotionState::Deploying;
        let effects = vec![Effect::Deploy { attempt: self.attempts }];
        Ok((Some(format!("started, deployment {}", self.attempts)), effects))
    }

    fn go_live(&mut self, line: &str, facts: &Facts) -> Done {
        self.state = PromotionState::Live;
        self.before = Some(facts.production.clone());
        self.live_at = Some(facts.now.nanos());
        (Some(line.to_owned()), vec![Effect::GoLive, Effect::Notify])
    }

    fn deployed(&mut self, attempt: u32, facts: &Facts) -> Result<Done, Refused> {
        if self.state != PromotionState::Deploying || attempt != self.attempts {
            // Reported twice, or rolled back meanwhile.
            return Ok(Done::default());
        }
        Ok(self.go_live(&format!("deployment {attempt} succeeded"), facts))
    }

    fn deploy_failed(&mut self, attempt: u32, why: &str) -> Result<Done, Refused> {
        if self.state == PromotionState::RolledBack && attempt == self.attempts {
            return Ok(self.restore_failed(attempt, why));
        }
        if self.state != PromotionState::Deploying || attempt != self.attempts {
            return Ok(Done::default());
        }
        self.state = PromotionState::Failed;
        Ok((Some(format!("deployment {attempt} failed: {why}")), vec![Effect::Notify]))
    }

    /// The label is back, but users may still get what was rolled back.
    fn restore_failed(&mut self, attempt: u32, why: &str) -> Done {
        let Some(outcome) = self.outcome.as_mut().filter(|one| one.restore_fault.is_none()) else {
            return Done::default();
        };
        let line = format!("deployment {attempt}, of what served before, failed: {why}");
        outcome.text = format!("{}; {line}; deploy it by hand", outcome.text);
        outcome.restore_fault = Some(why.to_owned());
        (Some(line), vec![Effect::Notify])
    }

    fn not_deployable(&mut self, attempt: u32, why: &str) -> Result<Done, Refused> {
        if self.state != PromotionState::Deploying || attempt != self.attempts {
            return Ok(Done::default());
        }
        self.state = PromotionState::Failed;
        self.attempts = self.attempts.saturating_add(1);
        let line = format!("deployment {attempt} does not go live: {why}");
        let effects = vec![Effect::DeployBefore { attempt: self.attempts }, Effect::Notify];
        Ok((Some(line), effects))
    }

    fn watched(&mut self, found: WatchResult) -> Result<Done, Refused> {
        if self.state != PromotionState::Live {
            return Ok(Done::default());
        }
        let was_worse = self.watch.as_ref().is_some_and(WatchResult::is_worse);
        let is_news = found.is_worse() && !was_worse;
        let line = is_news.then(|| found.sentence());
        self.watch = Some(found);
        Ok((line, if is_news { vec![Effect::Notify] } else { Vec::new() }))
    }

    fn confirm(&mut self, found: WatchResult, facts: &Facts) -> Result<Done, Refused> {
        if self.state != PromotionState::Live {
            return Err(self.wrong("only a live version can be confirmed"));
        }
        if found.is_worse() {
            return Err(self.wrong("production is significantly worse after it; roll it back"));
        }
        self.state = PromotionState::Confirmed;
        let text = found.sentence();
        let line = format!("confirmed: {text}");
        self.watch = Some(found.clone());
        self.outcome = Some(PromotionOutcome::new(text, Some(found), facts.now));
        Ok((Some(line), vec![Effect::Notify]))
    }

    fn rollback(&mut self, by: &Signer, reason: &str, facts: &Facts) -> Result<Done, Refused> {
        let reason = checked_reason("reason", reason)?;
        let was = self.state;
        let mut effects = match was {
            PromotionState::Deploying => Vec::new(),
            // A superseded version serves again when the one after it was rolled back.
            PromotionState::Live | PromotionState::Confirmed | PromotionState::Superseded
                if facts.is_serving =>
            {
                vec![Effect::Restore]
            }
            PromotionState::Live | PromotionState::Confirmed | PromotionState::Superseded => {
                return Err(self.wrong("another version is in production; roll that one back"));
            }
            _ => return Err(self.wrong("it is not in production; there is nothing to roll back")),
        };
        self.state = PromotionState::RolledBack;
        if facts.responsible.policy.deploys && self.attempts > 0 {
            self.attempts = self.attempts.saturating_add(1);
            effects.push(Effect::DeployBefore { attempt: self.attempts });
        }
        effects.push(Effect::Notify);
        let text = format!("rolled back by {}: {reason}", by.name);
        let watch = self.watch.clone();
        self.outcome = Some(PromotionOutcome::new(text.clone(), watch, facts.now));
        Ok((Some(text), effects))
    }

    fn supersede(&mut self, by: &str, facts: &Facts) -> Result<Done, Refused> {
        if self.state != PromotionState::Live {
            return Ok(Done::default());
        }
        self.state = PromotionState::Superseded;
        let text = format!("superseded by promotion {by} before its watch ended");
        let watch = self.watch.clone();
        self.outcome = Some(PromotionOutcome::new(text.clone(), watch, facts.now));
        Ok(done(text))
    }

    fn abandon(&mut self, facts: &Facts) -> Result<Done, Refused> {
        self.collecting("it cannot be abandoned any more; roll it back instead")?;
        self.state = PromotionState::Abandoned;
        let text = "abandoned".to_owned();
        self.outcome = Some(PromotionOutcome::new(text.clone(), None, facts.now));
        Ok(done(text))
    }
}

/// A line for the audit log, if anything changed, and effects.
pub(super) type Done = (Option<String>, Vec<Effect>);

fn done(line: String) -> Done {
    (Some(line), Vec::new())
}

fn checked_reason(field: &'static str, reason: &str) -> Result<String, Refused> {
    let reason = reason.trim();
    if reason.is_empty() || reason.chars().count() > MAX_REASON_CHARS {
        let problem = format!("write a reason of at most {MAX_REASON_CHARS} characters");
        return Err(Refused::Invalid { field, problem });
    }
    Ok(reason.to_owned())
}

fn checked_note(note: Option<String>) -> Result<Option<String>, Refused> {
    match note.filter(|note| !note.trim().is_empty()) {
        Some(note) => checked_reason("note", &note).map(Some),
        None => Ok(None),
    }
}
