use serde::{Deserialize, Serialize};

use super::evidence::{Comparison, GateResult, PromotionEvidence};
use super::policy::{PromotionPolicy, Responsible, Signer, SignerKind, people};
use super::state::Promotion;
use crate::gate::decision::Verdict;
use crate::gate::explain::percent;

/// What must be true before a version reaches production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    ToolTests,
    Gate,
    Review,
    JudgeErrors,
    NoRegression,
    Approval,
}

impl Criterion {
    /// In the order in which they are met.
    pub const ALL: [Self; 6] = [
        Self::ToolTests,
        Self::Gate,
        Self::NoRegression,
        Self::JudgeErrors,
        Self::Review,
        Self::Approval,
    ];

    /// Returns the title on pages and in the terminal.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ToolTests => "Tool tests passed",
            Self::Gate => "Accuracy gate passed",
            Self::Review => "Owner reviewed the results",
            Self::JudgeErrors => "Judge errors corrected",
            Self::NoRegression => "No regression",
            Self::Approval => "Approved",
        }
    }

    /// Returns what somebody gives to meet it, after "waits for".
    pub const fn given(self) -> &'static str {
        match self {
            Self::ToolTests => "tool tests",
            Self::Gate => "an accuracy gate",
            Self::Review => "a review of its results",
            Self::JudgeErrors => "verdicts on its items",
            Self::NoRegression => "a comparison with production",
            Self::Approval => "an approval",
        }
    }
}

/// Whether a criterion is met, on what evidence, and who can give it if not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CriterionState {
    pub criterion: Criterion,
    pub title: String,
    pub is_met: bool,
    /// The evidence, or what is missing.
    pub text: String,
    /// Who can give what is missing; empty if nothing is.
    pub who: String,
}

/// Returns the state of all six criteria.
pub fn criteria(promotion: &Promotion, responsible: &Responsible) -> Vec<CriterionState> {
    let evidence = &promotion.evidence;
    let state = |criterion: Criterion| {
        let (is_met, text) = match criterion {
            Criterion::ToolTests => tool_tests(evidence),
            Criterion::Gate => gate(evidence, &responsible.policy),
            Criterion::NoRegression => no_regression(evidence),
            Criterion::JudgeErrors => judge_errors(evidence),
            Criterion::Review => signed(evidence.review.as_ref(), "not reviewed yet"),
            Criterion::Approval => approval(promotion, &responsible.policy),
        };
        let who = if is_met { String::new() } else { who(criterion, evidence, responsible) };
        CriterionState { criterion, title: criterion.title().to_owned(), is_met, text, who }
    };
    Criterion::ALL.into_iter().map(state).collect()
}

/// Returns the criteria that are not met.
pub fn missing(promotion: &Promotion, responsible: &Responsible) -> Vec<CriterionState> {
    criteria(promotion, responsible).into_iter().filter(|state| !state.is_met).collect()
}

fn who(criterion: Criterion, evidence: &PromotionEvidence, responsible: &Responsible) -> String {
    let owners = people(&responsible.owners());
    let is_blocked = evidence.gate.as_ref().is_some_and(|gate| gate.verdict == Verdict::Block);
    match criterion {
        Criterion::ToolTests => "CI, with `ratchet promote evidence --junit FILE`".to_owned(),
        Criterion::Gate | Criterion::NoRegression => match &evidence.gate {
            Some(gate) if demands_too_little(gate, &responsible.policy) => format!(
                "CI, with `ratchet gate --min-accuracy {}`",
                responsible.policy.min_accuracy
            ),
            Some(gate) if gate.verdict == Verdict::Inconclusive => {
                format!("CI, with a gate that passes, or {owners} by waiving it with a reason")
            }
            Some(_) if is_blocked => "CI, with a better version".to_owned(),
            _ => "CI, with `ratchet gate --baseline production` and `ratchet promote evidence \
                  --gate ID`"
                .to_owned(),
        },
        Criterion::JudgeErrors | Criterion::Review => owners,
        Criterion::Approval => {
            let approvers = people(&responsible.approvers());
            match responsible.policy.second_person {
                true => format!("{approvers}, a person who neither created nor reviewed it"),
                false => approvers,
            }
        }
    }
}

fn tool_tests(evidence: &PromotionEvidence) -> (bool, String) {
    let Some(found) = &evidence.tool_tests else {
        return (false, "no results of tool tests yet".to_owned());
    };
    let passed = found.tests.saturating_sub(found.failed).saturating_sub(found.skipped);
    if found.failed > 0 {
        return (false, format!("{} of {} tool tests failed", found.failed, found.tests));
    }
    if passed == 0 {
        return (false, "no tool test ran".to_owned());
    }
    (true, format!("{passed} of {} tool tests passed, {} skipped", found.tests, found.skipped))
}

fn is_waived(evidence: &PromotionEvidence, gate: &GateResult) -> bool {
    gate.verdict == Verdict::Inconclusive && evidence.waiver.is_some()
}

/// Whether a gate demanded less than the policy does.
fn demands_too_little(gate: &GateResult, policy: &PromotionPolicy) -> bool {
    policy.is_required && gate.min_accuracy.is_some_and(|least| least < policy.min_accuracy)
}

fn gate(evidence: &PromotionEvidence, policy: &PromotionPolicy) -> (bool, String) {
    let Some(gate) = &evidence.gate else {
        return (false, "no gate on this version yet".to_owned());
    };
    let accuracy = format!("accuracy {}", percent(gate.accuracy));
    if gate.min_accuracy.is_none() {
        return (false, format!("{accuracy}, but the gate had no least accuracy"));
    }
    if let Some(least) = gate.min_accuracy.filter(|_| demands_too_little(gate, policy)) {
        let (found, wanted) = (percent(least), percent(policy.min_accuracy));
        let text = format!("the gate demanded an accuracy of {found}, the policy demands {wanted}");
        return (false, text);
    }
    match gate.verdict {
        Verdict::Pass => (true, format!("passed with {accuracy}")),
        Verdict::Block => (false, format!("blocked with {accuracy}")),
        Verdict::Inconclusive if is_waived(evidence, gate) => {
            (true, format!("inconclusive with {accuracy}, waived: {}", reason(evidence)))
        }
        Verdict::Inconclusive => (false, format!("inconclusive with {accuracy}")),
    }
}

fn reason(evidence: &PromotionEvidence) -> &str {
    evidence.waiver.as_ref().map_or("", |waiver| waiver.reason.as_str())
}

fn no_regression(evidence: &PromotionEvidence) -> (bool, String) {
    let Some(gate) = &evidence.gate else {
        return (false, "not compared with production yet".to_owned());
    };
    match (gate.comparison, gate.verdict) {
        (Comparison::Other, _) => {
            let text = "the gate did not compare with the run in production";
            (false, text.to_owned())
        }
        (Comparison::Nothing, Verdict::Pass) => {
            (true, "no promoted run is in production: there is none to compare with".to_owned())
        }
        (Comparison::Production, Verdict::Pass) => {
            (true, "not worse than production by more than the margin".to_owned())
        }
        (_, Verdict::Inconclusive) if is_waived(evidence, gate) => {
            (true, format!("inconclusive, waived: {}", reason(evidence)))
        }
        (_, Verdict::Inconclusive) => (false, "the gate could not tell".to_owned()),
        (_, Verdict::Block) => (false, "the gate blocked this version".to_owned()),
    }
}

fn judge_errors(evidence: &PromotionEvidence) -> (bool, String) {
    let Some(gate) = &evidence.gate else {
        return (false, "no gate on this version yet".to_owned());
    };
    let known = evidence.verdicts.as_ref().filter(|verdicts| verdicts.gate == gate.gate);
    let Some(verdicts) = known else {
        return (false, "failed and flipped items were not looked up yet".to_owned());
    };
    let needed = verdicts.needed;
    match verdicts.open_count {
        0 if needed == 0 => (true, "no item failed or flipped".to_owned()),
        0 => (true, format!("all {needed} failed or flipped items have a person's verdict")),
        open => (false, format!("{open} of {needed} failed or flipped items have no verdict")),
    }
}

fn approval(promotion: &Promotion, policy: &PromotionPolicy) -> (bool, String) {
    let given = promotion.evidence.approval.as_ref();
    match given.and_then(|given| not_second(&given.by, promotion, policy).map(|why| (given, why))) {
        Some((given, why)) => {
            let name = &given.by.name;
            (false, format!("approved by {name}, but it needs a second person: {why}"))
        }
        None => signed(given, "not approved yet"),
    }
}

/// Returns why a signer is not the second person that a policy asks for; `None` if it asks for none.
pub(super) fn not_second(
    by: &Signer,
    promotion: &Promotion,
    policy: &PromotionPolicy,
) -> Option<String> {
    if !policy.second_person {
        return None;
    }
    if by.kind == SignerKind::Key {
        return Some(format!("{} is the key of a program", by.name));
    }
    let PromotionEvidence { review, waiver, .. } = &promotion.evidence;
    let took_part = [
        (Some(&promotion.author), "created the promotion"),
        (review.as_ref().map(|review| &review.by), "reviewed its results"),
        (waiver.as_ref().map(|waiver| &waiver.by), "waived its gate"),
    ];
    let found = took_part.into_iter().find(|(who, _)| who.is_some_and(|who| by.is_same(who)));
    found.map(|(_, what)| format!("{} {what}", by.name))
}

fn signed(signature: Option<&super::evidence::Signature>, otherwise: &str) -> (bool, String) {
    match signature {
        Some(signature) => (true, format!("by {}", signature.by.name)),
        None => (false, otherwise.to_owned()),
    }
}
