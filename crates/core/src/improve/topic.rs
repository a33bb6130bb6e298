use std::collections::BTreeMap;

use kodama::{Method, linkage};

use super::cluster::clusters;
use super::embedding::embed;
use super::observed::{ObservedTrace, Standing};
use super::phrases::FailurePhrases;
use super::terms::terms;
use crate::stats::float;

/// Similarity from which on two groups, or a question and another, are of one topic.
const SAME_TOPIC: f64 = 0.35;
/// Share of similar successful traces from which on a tool is the usual one.
const USUAL: f64 = 0.6;
/// Successful traces that are compared with a group.
const SIMILAR: usize = 15;
/// Texts from which on a term is frequent enough to tell whether it depends on the kind of request.
const FREQUENT: usize = 8;
/// Points that questions with the same terms are at most.
const COPIES: usize = 3;
/// Failures of the week from which on a topic is a group of its own.
const MIN_TOPIC: usize = 8;

/// The questions of an agent's traces as points: close ones are of one topic.
#[derive(Clone, Debug)]
pub struct TopicSpace {
    /// Terms that tell topics apart, for each trace.
    pub texts: Vec<Vec<String>>,
    points: Vec<Option<Vec<f64>>>,
}

/// Vectors of questions by the id of their trace, from a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceEmbeddings(pub BTreeMap<String, Vec<f64>>);

impl TraceEmbeddings {
    /// Unit vectors around the centre of all: models put all texts into one corner of their space, so
    /// that without it all questions were of one topic.
    fn points(&self, traces: &[ObservedTrace]) -> Vec<Option<Vec<f64>>> {
        let known: Vec<Option<&Vec<f64>>> = traces.iter().map(|it| self.0.get(&it.id)).collect();
        let count = float(known.iter().flatten().count().max(1));
        let mut centre: Vec<f64> = Vec::new();
        for vector in known.iter().flatten() {
            centre.resize(vector.len(), 0.0);
            centre.iter_mut().zip(vector.iter()).for_each(|(sum, value)| *sum += value / count);
        }
        let unit = |vector: Option<&Vec<f64>>| {
            let moved: Vec<f64> = vector?.iter().zip(&centre).map(|(a, b)| a - b).collect();
            let length = dot(&moved, &moved).sqrt();
            let is_point = length.is_finite() && length > 1e-9;
            is_point.then(|| moved.into_iter().map(|value| value / length).collect())
        };
        known.into_iter().map(unit).collect()
    }
}

impl TopicSpace {
    /// Places the questions of traces: by the vectors of a model where there are some, else by TF-IDF.
    pub fn of(
        traces: &[ObservedTrace],
        phrases: &FailurePhrases,
        embeddings: Option<&TraceEmbeddings>,
    ) -> Self {
        let mut texts: Vec<Vec<String>> =
            traces.iter().map(|trace| topic_terms(trace, phrases)).collect();
        let kinds: Vec<_> =
            traces.iter().map(|trace| (trace.sub_agent(), trace.main_tool())).collect();
        let general = general_terms(&texts, &kinds);
        for text in &mut texts {
            text.retain(|term| !general.contains(term));
        }
        let points = match embeddings {
            Some(embeddings) => embeddings.points(traces),
            None => embed(&texts),
        };
        Self { points, texts }
    }

    /// Splits traces by topic. Topics with few failures of the week are no groups of their own: they
    /// belong to the nearest one.
    pub fn split(&self, members: Vec<usize>, traces: &[ObservedTrace]) -> Vec<Vec<usize>> {
        let is_large = |part: &Vec<usize>| {
            part.iter().filter(|at| traces[**at].weeks_ago == 0).count() >= MIN_TOPIC
        };
        let (mut large, small): (Vec<_>, Vec<_>) =
            self.topics(members).into_iter().partition(is_large);
        if large.is_empty() {
            return vec![small.into_iter().flatten().collect()];
        }
        let centres: Vec<Vec<f64>> = large.iter().map(|part| self.centre(part)).collect();
        for part in small {
            let own = self.centre(&part);
            let likeness = |at: &usize| dot(&own, &centres[*at]);
            let nearest =
                (0..centres.len()).max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
            large[nearest.unwrap_or(0)].extend(part);
        }
        large
    }

    /// Clusters, then those with close centres joined. Questions without terms are one topic.
    fn topics(&self, members: Vec<usize>) -> Vec<Vec<usize>> {
        // Near-duplicates are few points: a question asked a thousand times is no thousand of topics.
        let mut distinct: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for at in members {
            let mut words: Vec<&str> = self.texts[at].iter().map(String::as_str).collect();
            words.sort_unstable();
            words.dedup();
            distinct.entry(words).or_default().push(at);
        }
        let alike: Vec<Vec<usize>> = distinct.into_values().collect();
        // Up to a few copies: Ward's distance of two single points is always below the cut.
        let copies = |at: usize| std::iter::repeat_n(at, alike[at].len().min(COPIES));
        let own: Vec<usize> = (0..alike.len()).flat_map(copies).collect();
        let points: Vec<Option<Vec<f64>>> =
            own.iter().map(|at| self.points[alike[*at][0]].clone()).collect();
        let of_alike: BTreeMap<usize, Option<usize>> =
            own.into_iter().zip(clusters(&points)).collect();
        let mut parts: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (at, same) in alike.iter().enumerate() {
            let cluster = of_alike.get(&at).copied().flatten();
            parts.entry(cluster).or_default().extend(same);
        }
        let wordless = parts.remove(&None);
        let mut joined = self.join(parts.into_values().collect());
        joined.extend(wordless);
        joined
    }

    /// Joins parts with close centres, the closest first.
    fn join(&self, parts: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        if parts.len() < 2 {
            return parts;
        }
        let centres: Vec<Vec<f64>> = parts.iter().map(|part| self.centre(part)).collect();
        let pairs =
            (0..parts.len()).flat_map(|one| (one + 1..parts.len()).map(move |two| (one, two)));
        let mut distances: Vec<f64> =
            pairs.map(|(one, two)| 1.0 - dot(&centres[one], &centres[two])).collect();
        let tree = linkage(&mut distances, parts.len(), Method::Average);
        let mut parts: Vec<Option<Vec<usize>>> = parts.into_iter().map(Some).collect();
        for step in tree.steps() {
            let is_close = step.dissimilarity <= 1.0 - SAME_TOPIC;
            let pair = (parts[step.cluster1].clone(), parts[step.cluster2].clone());
            let (Some(mut one), Some(two)) = pair else {
                parts.push(None);
                continue;
            };
            if is_close {
                one.extend(two);
                parts[step.cluster1] = None;
                parts[step.cluster2] = None;
            }
            parts.push(is_close.then_some(one));
        }
        parts.into_iter().flatten().collect()
    }

    /// Returns the tool that most successful traces with similar questions call.
    pub fn usual_tool(&self, part: &[usize], traces: &[ObservedTrace]) -> Option<String> {
        let centre = self.centre(part);
        let mut similar: Vec<(f64, &ObservedTrace)> = Vec::new();
        for (point, trace) in self.points.iter().zip(traces) {
            let is_fine = trace.standing() == Standing::Fine && trace.judged_good() != Some(false);
            if let Some(point) = point.as_ref().filter(|_| is_fine) {
                similar.push((dot(&centre, point), trace));
            }
        }
        similar.retain(|(likeness, _)| *likeness >= SAME_TOPIC);
        similar.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.id.cmp(&other.1.id)));
        similar.truncate(SIMILAR);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in similar.iter().filter_map(|(_, trace)| trace.main_tool()) {
            *counts.entry(tool).or_default() += 1;
        }
        let (tool, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let is_usual = count >= 3 && float(count) >= USUAL * float(similar.len());
        is_usual.then(|| tool.to_owned())
    }

    /// The unit vector of a part's centre.
    fn centre(&self, part: &[usize]) -> Vec<f64> {
        let mut sum: Vec<f64> = Vec::new();
        for point in part.iter().filter_map(|at| self.points[*at].as_ref()) {
            sum.resize(point.len(), 0.0);
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
        let length = dot(&sum, &sum).sqrt().max(1e-12);
        sum.into_iter().map(|value| value / length).collect()
    }
}

/// Terms of the question, without instructions to readers of traces.
fn topic_terms(trace: &ObservedTrace, phrases: &FailurePhrases) -> Vec<String> {
    let mut found = terms(&phrases.without_instructions(&trace.question));
    found.retain(|term| term.chars().all(|c| c.is_alphabetic() || c == '_') && term.len() <= 24);
    found
}

/// Frequent terms that all kinds of requests have alike, such as names and greetings: they say nothing
/// about a topic. By a G-test at 1% of term against kind.
fn general_terms<K: Ord + Copy>(
    texts: &[Vec<String>],
    kinds: &[K],
) -> std::collections::BTreeSet<String> {
    let mut sizes: BTreeMap<K, usize> = BTreeMap::new();
    let mut counts: BTreeMap<&str, BTreeMap<K, usize>> = BTreeMap::new();
    for (text, kind) in texts.iter().zip(kinds) {
        *sizes.entry(*kind).or_default() += 1;
        let words: std::collections::BTreeSet<&str> = text.iter().map(String::as_str).collect();
        for term in words {
            *counts.entry(term).or_default().entry(*kind).or_default() += 1;
        }
    }
    if sizes.len() < 3 {
        return std::collections::BTreeSet::new();
    }
    let (total, freedom) = (float(texts.len()), float(sizes.len() - 1));
    let critical = chi_square_at_1_percent(freedom);
    let is_general = |by_kind: &BTreeMap<K, usize>| {
        let all = float(by_kind.values().sum());
        let part = |(kind, size): (&K, &usize)| {
            let (with, size) = (float(by_kind.get(kind).copied().unwrap_or(0)), float(*size));
            let share = all / total;
            term_of_g(with, size * share) + term_of_g(size - with, size * (1.0 - share))
        };
        2.0 * sizes.iter().map(part).sum::<f64>() <= critical
    };
    let frequent = counts
        .into_iter()
        .filter(|(_, by_kind)| by_kind.values().sum::<usize>() >= FREQUENT && is_general(by_kind));
    frequent.map(|(term, _)| term.to_owned()).collect()
}

fn term_of_g(observed: f64, expected: f64) -> f64 {
    if observed > 0.0 && expected > 0.0 { observed * (observed / expected).ln() } else { 0.0 }
}

/// By Wilson and Hilferty (1931).
fn chi_square_at_1_percent(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 2.326_347_874 * spread.sqrt()).powi(3)
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_all_kinds_are_general_and_those_of_one_are_not() {
        let kinds: Vec<usize> = (0..90).map(|n| n % 3).collect();
        let topic = ["stock", "parcel", "invoice"];
        let text = |n: usize| terms(&format!("{} {}", topic[n % 3], ["bremen", "lyon"][n / 3 % 2]));
        let texts: Vec<Vec<String>> = (0..90).map(text).collect();
        let general = general_terms(&texts, &kinds);
        assert_eq!(general.into_iter().collect::<Vec<_>>(), ["bremen", "lyon"]);
    }

    #[test]
    fn the_critical_value_is_that_of_tables() {
        assert!((chi_square_at_1_percent(5.0) - 15.086).abs() < 0.05);
        assert!((chi_square_at_1_percent(20.0) - 37.566).abs() < 0.05);
    }

    #[test]
    fn a_question_asked_often_counts_as_one_point_and_keeps_its_traces() {
        let trace = |n: usize| ObservedTrace {
            id: n.to_string(),
            question: ["where is my parcel", "wrong invoice total"][n % 2].to_owned(),
            ..ObservedTrace::default()
        };
        let traces: Vec<ObservedTrace> = (0..200).map(trace).collect();
        let space = TopicSpace::of(&traces, FailurePhrases::shipped(), None);
        let parts = space.split((0..200).collect(), &traces);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100]);
    }
}
