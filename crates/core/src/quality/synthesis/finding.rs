use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::comparison::{Basis, Comparison, Family, Succession};
use super::{OVERALL, SessionMarks, WEEKLY_LEVEL};
use crate::judge::rubric::MARKS;
use crate::stats::bounded;

/// Sessions that show a finding, worst first.
const MAX_SESSIONS: usize = 5;

/// A significant difference between two groups of sessions of an agent in an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeekFinding {
    pub agent: Option<String>,
    pub environment: String,
    pub basis: Basis,
    /// `overall_quality`, or the dimension that changed most where the overall score did not
    /// change significantly.
    pub measure: String,
    pub before: ComparedGroup,
    pub after: ComparedGroup,
    /// The later mean minus the earlier one.
    pub change: f64,
    /// 95% confidence interval of the change.
    pub interval: [f64; 2],
    /// p-value, corrected for the number of all comparisons of the report.
    pub p: f64,
    /// Dimensions that changed significantly too, largest drop first.
    pub dimensions: Vec<DimensionChange>,
    /// Known users of the later sessions.
    pub users: usize,
    /// Lowest of the later sessions after a drop, highest after a rise.
    pub sessions: Vec<String>,
}

/// The scores of a group of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedGroup {
    pub mean: f64,
    pub n: usize,
}

/// The change of a dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimensionChange {
    pub name: String,
    pub change: f64,
    pub interval: [f64; 2],
}

/// The significant differences of a family of comparisons: largest drop first, rises last.
pub(super) fn findings(dimensions: &[&str], family: &Family<'_>) -> Vec<WeekFinding> {
    let of = |comparison: &Comparison| finding(dimensions, family, comparison);
    let mut found: Vec<WeekFinding> = family.comparisons.iter().filter_map(of).collect();
    // A change of the week that a release or a prompt explains is not reported twice.
    let explained: BTreeSet<(Option<String>, String, bool)> = found
        .iter()
        .filter(|finding| finding.basis != Basis::Week)
        .map(WeekFinding::subject)
        .collect();
    found.retain(|finding| finding.basis != Basis::Week || !explained.contains(&finding.subject()));
    // Neither is a prompt version that came and went with a release: its sessions are the same.
    let released: Vec<WeekFinding> = found
        .iter()
        .filter(|finding| matches!(finding.basis, Basis::Release(_)))
        .cloned()
        .collect();
    let is_released = |finding: &WeekFinding| {
        released.iter().any(|release| {
            let groups = (&release.before, &release.after);
            release.subject() == finding.subject() && groups == (&finding.before, &finding.after)
        })
    };
    found.retain(|finding| !matches!(finding.basis, Basis::Prompt(_)) || !is_released(finding));
    found.sort_by(|one, other| {
        let by_size = one.change.total_cmp(&other.change);
        by_size.then_with(|| one.subject().cmp(&other.subject()))
    });
    found
}

fn finding(
    dimensions: &[&str],
    family: &Family<'_>,
    comparison: &Comparison,
) -> Option<WeekFinding> {
    let (agent, environment) = comparison.cell.clone()?;
    let names = std::iter::once(OVERALL).chain(dimensions.iter().copied());
    let mut clear: Vec<Measured> = names
        .enumerate()
        .zip(&comparison.p_values)
        .filter(|(_, p)| **p <= WEEKLY_LEVEL)
        .filter_map(|((at, name), p)| measured(family, comparison, (at, name, *p)))
        .collect();
    // The overall score is first if it changed; otherwise the largest change is.
    let is_overall = clear.first().is_some_and(|first| first.name == OVERALL);
    clear
        .get_mut(usize::from(is_overall)..)?
        .sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    let mut clear = clear.into_iter();
    let main = clear.next()?;
    let mut also: Vec<DimensionChange> = clear
        .map(|one| DimensionChange { name: one.name, change: one.change, interval: one.interval })
        .collect();
    also.sort_by(|one, other| one.change.total_cmp(&other.change));
    let later = comparison.groups.later.iter().filter_map(|at| family.sessions.get(*at).copied());
    let later: Vec<&SessionMarks> = later.collect();
    let users: BTreeSet<&String> =
        later.iter().filter_map(|session| session.facts.user.as_ref()).collect();
    Some(WeekFinding {
        agent,
        environment: environment.to_string(),
        basis: comparison.basis.clone(),
        before: main.before,
        after: main.after,
        change: main.change,
        interval: main.interval,
        p: main.p,
        dimensions: also,
        users: users.len(),
        sessions: shown(&later, &main),
        measure: main.name,
    })
}

/// A significant change of a measure.
struct Measured {
    name: String,
    before: ComparedGroup,
    after: ComparedGroup,
    change: f64,
    interval: [f64; 2],
    p: f64,
}

fn measured(
    family: &Family<'_>,
    comparison: &Comparison,
    (at, name, p): (usize, &str, f64),
) -> Option<Measured> {
    let groups = &comparison.groups;
    let (earlier, later) = (family.values(&groups.earlier, at), family.values(&groups.later, at));
    let found = bounded::difference(&earlier, &later, MARKS).ok()?;
    let interval = found.interval?;
    let group = |values: &[f64]| {
        let mean = bounded::mean(values, MARKS).ok()?.value;
        Some(ComparedGroup { mean, n: values.len() })
    };
    Some(Measured {
        name: name.to_owned(),
        before: group(&earlier)?,
        after: group(&later)?,
        change: found.value,
        interval: [interval.lower, interval.upper],
        p,
    })
}

/// The sessions that show a change best.
fn shown(later: &[&SessionMarks], main: &Measured) -> Vec<String> {
    let value = |session: &SessionMarks| match main.name.as_str() {
        OVERALL => Some(session.overall),
        name => session.marks.get(name).map(|mark| mark.value),
    };
    let mut marked: Vec<(f64, &SessionMarks)> =
        later.iter().filter_map(|session| Some((value(session)?, *session))).collect();
    marked.sort_by(|(one, first), (other, second)| {
        let by_value = if main.change < 0.0 { one.total_cmp(other) } else { other.total_cmp(one) };
        by_value.then_with(|| first.session.cmp(&second.session))
    });
    let shown = marked.into_iter().take(MAX_SESSIONS);
    shown.map(|(_, session)| session.session.to_string()).collect()
}

impl WeekFinding {
    /// Returns whether the later sessions are worse.
    pub fn is_drop(&self) -> bool {
        self.change < 0.0
    }

    /// What changed, and in which direction.
    fn subject(&self) -> (Option<String>, String, bool) {
        (self.agent.clone(), self.environment.clone(), self.is_drop())
    }
}

impl Basis {
    /// Returns the release or prompt version, if that is what is compared.
    pub const fn succession(&self) -> Option<&Succession> {
        match self {
            Self::Week => None,
            Self::Release(succession) | Self::Prompt(succession) => Some(succession),
        }
    }
}
