use std::collections::BTreeMap;

use super::{Finding, Judgement, MAX_CITATIONS, MAX_RATIONALE_CHARS, Verdict};
use crate::judge::rubric::{Aggregation, Dimension, Rubric};
use crate::stats::float;

/// Tolerance for ties between sums of weights.
const TIE_TOLERANCE: f64 = 1e-9;

/// A verdict on one chunk of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVerdict {
    pub verdict: Verdict,
    /// Tokens that no earlier chunk has: its weight in a mean.
    pub new_tokens: u64,
}

/// The verdict on a session, with those on its chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionVerdict {
    pub verdict: Verdict,
    /// Chunk scores by dimension, in the rubric's order.
    pub marks: Vec<ChunkMarks>,
}

/// The scores of all chunks for one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkMarks {
    /// The verdicts on the dimension, in chunk order.
    pub verdicts: Vec<ChunkMark>,
    /// `None` if no chunk has a score.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Sample variance; 0 for a single score.
    pub variance: Option<f64>,
    /// The grades that got as many votes as the one that was taken, which is the worst of them;
    /// empty without a tie.
    pub tied_with: Vec<String>,
}

/// The verdict on one dimension of one chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkMark {
    pub judgement: Judgement,
    /// Tokens that no earlier chunk has.
    pub new_tokens: u64,
}

/// A score of one chunk with its weight.
#[derive(Clone, Copy)]
struct Mark<'a> {
    /// Number of the chunk, from 1.
    part: usize,
    value: f64,
    new_tokens: u64,
    judgement: &'a Judgement,
}

/// Aggregates chunk verdicts to a session verdict, each dimension by its own rule.
///
/// A single verdict is unchanged. Chunks without a score are ignored; where none has one, the
/// dimension is not observable. The result lies between the chunk scores. Except for
/// [`Aggregation::Last`], the order of the chunks does not affect it.
pub fn aggregate(rubric: &Rubric, chunks: &[ChunkVerdict]) -> SessionVerdict {
    let judged = rubric.dimensions.iter().map(|dimension| settle(dimension, chunks));
    let (dimensions, marks) = judged.unzip();
    SessionVerdict { verdict: Verdict { dimensions }, marks }
}

fn settle(dimension: &Dimension, chunks: &[ChunkVerdict]) -> (Judgement, ChunkMarks) {
    let sent: Vec<_> =
        chunks.iter().map(|chunk| chunk.verdict.judgement(&dimension.name)).collect();
    let marks: Vec<_> = (1..)
        .zip(sent.iter().zip(chunks))
        .filter_map(|(part, (judgement, chunk))| {
            let judgement = (*judgement)?;
            let value = judgement.finding.value()?;
            Some(Mark { part, value, new_tokens: chunk.new_tokens, judgement })
        })
        .collect();
    let judged = match chunks {
        [_] => marks.first().map(|only| (only.judgement.clone(), Vec::new())),
        _ => by_rule(dimension.aggregation, &marks, chunks.len()),
    };
    let (judgement, tied_with) = judged.unwrap_or_else(|| {
        (not_observable(dimension, sent.iter().copied().flatten().last()), Vec::new())
    });
    let values: Vec<_> = marks.iter().map(|mark| mark.value).collect();
    let chunk_mark = |(sent, chunk): (&Option<&Judgement>, &ChunkVerdict)| ChunkMark {
        judgement: sent.cloned().unwrap_or_else(|| not_observable(dimension, None)),
        new_tokens: chunk.new_tokens,
    };
    let chunk_marks = ChunkMarks {
        verdicts: sent.iter().zip(chunks).map(chunk_mark).collect(),
        min: values.iter().copied().reduce(f64::min),
        max: values.iter().copied().reduce(f64::max),
        variance: variance(&values),
        tied_with,
    };
    (judgement, chunk_marks)
}

/// Returns an unobservable judgement with the rationale of the last chunk that gave one.
fn not_observable(dimension: &Dimension, sent: Option<&Judgement>) -> Judgement {
    sent.cloned().unwrap_or_else(|| Judgement {
        dimension: dimension.name.clone(),
        finding: Finding::NotObservable,
        rationale: "nothing was judged".to_owned(),
        evidence: Vec::new(),
        signals: BTreeMap::new(),
        confidence: 0.0,
    })
}

/// Applies the rule, and returns the grades that tied with the one taken; `None` without scores.
fn by_rule(
    rule: Aggregation,
    marks: &[Mark<'_>],
    parts: usize,
) -> Option<(Judgement, Vec<String>)> {
    let mut rising = marks.to_vec();
    rising.sort_by(|one, other| {
        let by_value =
            one.value.total_cmp(&other.value).then(one.new_tokens.cmp(&other.new_tokens));
        by_value.then(one.judgement.confidence.total_cmp(&other.judgement.confidence))
    });
    let judged = match rule {
        Aggregation::Mean => mean(&rising, parts),
        Aggregation::Vote => return vote(&rising),
        Aggregation::Worst => most_confident(rising.chunk_by(|a, b| a.value == b.value).next()?),
        Aggregation::Last => marks.last().map(|last| last.judgement.clone()),
    };
    Some((judged?, Vec::new()))
}

/// Returns the most confident judgement, the earliest among equals, with all citations.
fn most_confident(marks: &[Mark<'_>]) -> Option<Judgement> {
    let best = marks.iter().max_by(|one, other| {
        let by_confidence = one.judgement.confidence.total_cmp(&other.judgement.confidence);
        by_confidence.then(other.part.cmp(&one.part))
    })?;
    Some(Judgement { evidence: cited(marks), ..best.judgement.clone() })
}

/// Returns the mean of ascending scores, weighted by new tokens; the rationale is from the lowest and the
/// highest.
fn mean(rising: &[Mark<'_>], parts: usize) -> Option<Judgement> {
    let (lowest, highest) = (rising.first()?, rising.last()?);
    let has_tokens = rising.iter().any(|mark| mark.new_tokens > 0);
    let weight = |mark: &Mark<'_>| {
        if has_tokens { float(usize::try_from(mark.new_tokens).unwrap_or(usize::MAX)) } else { 1.0 }
    };
    let weights: f64 = rising.iter().map(weight).sum();
    let weighed = |of: fn(&Mark<'_>) -> f64| {
        rising.iter().map(|mark| weight(mark) * of(mark)).sum::<f64>() / weights
    };
    // Clamped, because rounding may carry a mean past its parts.
    let value = weighed(|mark| mark.value).max(lowest.value).min(highest.value);
    let rationale = if lowest.value == highest.value {
        most_confident(rising)?.rationale
    } else {
        format!("{} {}", describe("Lowest", lowest, parts), describe("Highest", highest, parts))
    };
    Some(Judgement {
        dimension: lowest.judgement.dimension.clone(),
        finding: Finding::Number(value),
        rationale,
        evidence: cited(rising),
        signals: BTreeMap::new(),
        confidence: weighed(|mark| mark.judgement.confidence).clamp(0.0, 1.0),
    })
}

fn describe(which: &str, mark: &Mark<'_>, parts: usize) -> String {
    const MOST: usize = MAX_RATIONALE_CHARS / 2 - 50;
    let why = &mark.judgement.rationale;
    let why = match why.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", why.get(..end).unwrap_or_default()),
        None => why.clone(),
    };
    format!("{which} ({:.2}, part {} of {parts}): {why}", mark.value, mark.part)
}

/// Returns the confidence-weighted majority, and the grades that tied with it; ties go to the worse
/// grade.
fn vote(rising: &[Mark<'_>]) -> Option<(Judgement, Vec<String>)> {
    let has_confidence = rising.iter().any(|mark| mark.judgement.confidence > 0.0);
    let weight = |mark: &Mark<'_>| if has_confidence { mark.judgement.confidence } else { 1.0 };
    let groups: Vec<_> = rising
        .chunk_by(|one, other| one.value == other.value)
        .map(|group| (group, group.iter().map(weight).sum::<f64>()))
        .collect();
    let most = groups.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let mut winners = groups.iter().filter(|(_, weight)| most - weight <= TIE_TOLERANCE);
    let (group, weight) = winners.next()?;
    let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
    let confidences = group.iter().map(|mark| mark.judgement.confidence);
    let confidence = confidences.sum::<f64>() / float(group.len());
    let judged = Judgement {
        confidence: (confidence * weight / total).clamp(0.0, 1.0),
        ..most_confident(group)?
    };
    let label = |(group, _): &(&[Mark<'_>], f64)| match &group.first()?.judgement.finding {
        Finding::Grade(grade) => Some(grade.label.clone()),
        Finding::Number(number) => Some(number.to_string()),
        Finding::NotObservable => None,
    };
    Some((judged, winners.filter_map(label).collect()))
}

/// Returns all citations in order.
fn cited(marks: &[Mark<'_>]) -> Vec<u32> {
    let mut cited: Vec<_> =
        marks.iter().flat_map(|mark| mark.judgement.evidence.iter().copied()).collect();
    cited.sort_unstable();
    cited.dedup();
    cited.truncate(MAX_CITATIONS);
    cited
}

/// Returns the sample variance; 0 of a single value, `None` of none.
fn variance(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = float(values.len());
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    match values.len() {
        0 => None,
        1 => Some(0.0),
        _ => Some(squares / (n - 1.0)),
    }
}
