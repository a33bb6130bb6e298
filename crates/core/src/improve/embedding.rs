use std::collections::BTreeMap;

use super::terms::counts;
use crate::stats::float;

/// Dimensions of the reduced vectors.
const DIMENSIONS: usize = 64;
/// Terms of the vocabulary: the most frequent ones.
const MAX_VOCABULARY: usize = 5_000;
/// Rounds of the subspace iteration: enough for the leading directions of texts.
const ROUNDS: usize = 8;

/// A vector with few entries: (index, value), sorted by index.
type SparseVector = Vec<(usize, f64)>;

/// Returns a unit vector for each text, given by its terms: TF-IDF, reduced by a truncated SVD where
/// the vocabulary is larger than the space. Texts without a term that another text has are `None`.
///
/// Deterministic: the iteration starts from fixed vectors, and the order of texts changes no
/// similarity.
pub fn embed(texts: &[Vec<String>]) -> Vec<Option<Vec<f64>>> {
    let rows = tf_idf(texts);
    let width = rows.iter().flatten().map(|(at, _)| at + 1).max().unwrap_or(0);
    if width <= DIMENSIONS {
        return rows.iter().map(|row| (!row.is_empty()).then(|| dense(row, width))).collect();
    }
    let basis = leading_directions(&rows, width);
    let project = |row: &SparseVector| {
        let point: Vec<f64> = basis.iter().map(|direction| dot(row, direction)).collect();
        unit(point)
    };
    rows.iter().map(project).collect()
}

/// Unit rows of TF-IDF: `(1 + ln tf) · (ln((1 + n) / (1 + df)) + 1)`, over terms of two texts or more.
fn tf_idf(texts: &[Vec<String>]) -> Vec<SparseVector> {
    let counted: Vec<BTreeMap<&str, usize>> = texts.iter().map(|terms| counts(terms)).collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for term in counted.iter().flat_map(BTreeMap::keys) {
        *frequency.entry(term).or_default() += 1;
    }
    let mut vocabulary: Vec<(&str, usize)> =
        frequency.into_iter().filter(|(_, texts)| *texts > 1).collect();
    vocabulary.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    vocabulary.truncate(MAX_VOCABULARY);
    let total = float(texts.len());
    let weights: BTreeMap<&str, (usize, f64)> = vocabulary
        .into_iter()
        .enumerate()
        .map(|(at, (term, df))| (term, (at, ((1.0 + total) / (1.0 + float(df))).ln() + 1.0)))
        .collect();
    counted.iter().map(|terms| unit_row(terms, &weights)).collect()
}

fn unit_row(terms: &BTreeMap<&str, usize>, weights: &BTreeMap<&str, (usize, f64)>) -> SparseVector {
    let value = |(term, count): (&&str, &usize)| {
        let (at, idf) = weights.get(term)?;
        Some((*at, (1.0 + float(*count).ln()) * idf))
    };
    let mut row: SparseVector = terms.iter().filter_map(value).collect();
    row.sort_by_key(|(at, _)| *at);
    let length = row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
    row.iter_mut().for_each(|(_, value)| *value /= length);
    row
}

/// The leading right singular vectors of the rows, by orthogonal iteration on `XᵀX`.
fn leading_directions(rows: &[SparseVector], width: usize) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = (0..DIMENSIONS).map(|k| start(k, width)).collect();
    orthonormalise(&mut basis);
    for _ in 0..ROUNDS {
        for direction in &mut basis {
            let mut image = vec![0.0; width];
            for row in rows {
                let along = dot(row, direction);
                row.iter().for_each(|(at, value)| image[*at] += along * value);
            }
            *direction = image;
        }
        orthonormalise(&mut basis);
    }
    basis
}

/// A fixed start vector: signs by a multiplicative hash, the same in every run.
fn start(k: usize, width: usize) -> Vec<f64> {
    let sign = |at: usize| {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (k as u64 + 1).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        if (mixed >> 40) & 1 == 0 { 1.0 } else { -1.0 }
    };
    (0..width).map(sign).collect()
}

/// Modified Gram–Schmidt. Directions without a part of their own are dropped.
fn orthonormalise(basis: &mut Vec<Vec<f64>>) {
    let mut done: Vec<Vec<f64>> = Vec::with_capacity(basis.len());
    for mut vector in basis.drain(..) {
        for other in &done {
            let along: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        done.extend(unit(vector));
    }
    *basis = done;
}

fn dot(row: &SparseVector, direction: &[f64]) -> f64 {
    row.iter().map(|(at, value)| value * direction[*at]).sum()
}

fn dense(row: &SparseVector, width: usize) -> Vec<f64> {
    let mut point = vec![0.0; width];
    row.iter().for_each(|(at, value)| point[*at] = *value);
    point
}

fn unit(mut point: Vec<f64>) -> Option<Vec<f64>> {
    let length = point.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length < 1e-9 {
        return None;
    }
    point.iter_mut().for_each(|value| *value /= length);
    Some(point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::terms::terms;

    fn similarity(one: &[f64], other: &[f64]) -> f64 {
        one.iter().zip(other).map(|(a, b)| a * b).sum()
    }

    /// The mean similarity of points that are `step` apart.
    fn mean(points: &[Vec<f64>], step: usize) -> f64 {
        let pairs = points.iter().zip(points.iter().skip(step));
        let all: Vec<f64> = pairs.map(|(one, other)| similarity(one, other)).collect();
        all.iter().sum::<f64>() / float(all.len())
    }

    #[test]
    fn texts_of_a_topic_are_closer_than_texts_of_two() {
        // A vocabulary larger than the space, so that the SVD runs.
        let word = |n: usize| {
            let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
            format!("filler{}{}", letter(n), letter(n / 26))
        };
        let text = |n: usize| {
            let topic = if n.is_multiple_of(2) {
                "warranty serial expiry"
            } else {
                "parcel courier tracking"
            };
            terms(&format!("{topic} {} {}", word(n % 401), word((n * 7) % 401)))
        };
        let texts: Vec<_> = (0..600).map(text).collect();
        let points: Vec<_> = embed(&texts).into_iter().map(Option::unwrap).collect();
        assert_eq!(points[0].len(), DIMENSIONS);
        let rows = tf_idf(&texts);
        let width = rows.iter().flatten().map(|(at, _)| at + 1).max().unwrap();
        let plain: Vec<Vec<f64>> = rows.iter().map(|row| dense(row, width)).collect();
        // Neighbours are of two topics, every second text is of one.
        let (same, different) = (mean(&points, 2), mean(&points, 1));
        assert!(same > 10.0 * different.abs(), "{same} is not far above {different}");
        // What it is for: rare words that texts do not share count less than in plain TF-IDF.
        let unreduced = mean(&plain, 2);
        assert!(same > 2.0 * unreduced, "{same} is not far above {unreduced}");
        assert_eq!(embed(&texts), embed(&texts));
    }

    #[test]
    fn a_text_without_common_terms_has_no_vector() {
        let texts = [terms("zebra"), terms("parcel lost"), terms("parcel lost again")];
        let points = embed(&texts);
        assert!(points[0].is_none() && points[1].is_some());
        assert_eq!(embed(&[]), Vec::<Option<Vec<f64>>>::new());
    }
}
