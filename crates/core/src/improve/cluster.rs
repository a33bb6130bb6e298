use kodama::{Method, linkage};

/// Points from which on they are reduced to centroids first: Ward's distances of more take gigabytes.
pub const MAX_POINTS: usize = 20_000;
/// Centroids of the reduction.
const CENTROIDS: usize = 1_000;
/// Rounds of k-means.
const ROUNDS: usize = 10;
/// The Ward distance of unit vectors up to which groups are joined.
const CUT: f32 = 1.5;

/// Groups unit vectors by Ward's method, cut at a fixed distance. Returns the group of each point,
/// numbered in the order of their first points; points without a vector have none.
///
/// ```
/// use ratchet_core::improve::cluster::clusters;
/// let near = |x: f64| Some(vec![x.cos(), x.sin()]);
/// let points = [near(0.0), near(0.1), None, near(1.6), near(1.5)];
/// assert_eq!(clusters(&points), [Some(0), Some(0), None, Some(1), Some(1)]);
/// ```
pub fn clusters(points: &[Option<Vec<f64>>]) -> Vec<Option<usize>> {
    let known: Vec<&[f64]> = points.iter().flatten().map(Vec::as_slice).collect();
    let groups = if known.len() > MAX_POINTS {
        let (centroids, nearest) = k_means(&known, CENTROIDS);
        let centroids: Vec<&[f64]> = centroids.iter().map(Vec::as_slice).collect();
        let of_centroid = ward(&centroids);
        nearest.into_iter().map(|at| of_centroid[at]).collect()
    } else {
        ward(&known)
    };
    let mut groups = in_order(&groups).into_iter();
    points.iter().map(|point| point.as_ref().and_then(|_| groups.next())).collect()
}

/// The group of each point.
fn ward(points: &[&[f64]]) -> Vec<usize> {
    let count = points.len();
    if count < 2 {
        return vec![0; count];
    }
    let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
    // Half the memory of `f64`: 20,000 points have 200 million distances.
    let mut distances: Vec<f32> =
        pairs.map(|(one, other)| distance(points[one], points[other])).collect();
    let tree = linkage(&mut distances, count, Method::Ward);
    // Steps are sorted by distance; each joins two groups into the next number.
    let mut parents: Vec<usize> = (0..count + tree.len()).collect();
    for (step, at) in tree.steps().iter().zip(count..) {
        if step.dissimilarity <= CUT {
            parents[step.cluster1] = at;
            parents[step.cluster2] = at;
        }
    }
    let root = |mut at: usize| {
        while parents[at] != at {
            at = parents[at];
        }
        at
    };
    (0..count).map(root).collect()
}

/// Centroids of points, and the nearest one of each point. Starts from points at equal steps, so that
/// the same points give the same centroids.
fn k_means(points: &[&[f64]], count: usize) -> (Vec<Vec<f64>>, Vec<usize>) {
    let step = points.len() / count;
    let mut centroids: Vec<Vec<f64>> =
        points.iter().step_by(step.max(1)).take(count).map(|point| point.to_vec()).collect();
    let mut nearest = vec![0; points.len()];
    for _ in 0..ROUNDS {
        for (at, point) in nearest.iter_mut().zip(points) {
            *at = closest(point, &centroids);
        }
        let mut sums = vec![(0_u32, Vec::<f64>::new()); centroids.len()];
        for (at, point) in nearest.iter().zip(points) {
            let (members, sum) = &mut sums[*at];
            *members += 1;
            sum.resize(point.len(), 0.0);
            sum.iter_mut().zip(*point).for_each(|(sum, value)| *sum += value);
        }
        for (centroid, (members, sum)) in centroids.iter_mut().zip(sums) {
            if members > 0 {
                *centroid = sum.into_iter().map(|sum| sum / f64::from(members)).collect();
            }
        }
    }
    (centroids, nearest)
}

fn closest(point: &[f64], centroids: &[Vec<f64>]) -> usize {
    let distances = centroids.iter().map(|centroid| squared(point, centroid)).enumerate();
    distances.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(at, _)| at)
}

#[expect(clippy::cast_possible_truncation, reason = "distances of unit vectors")]
fn distance(one: &[f64], other: &[f64]) -> f32 {
    squared(one, other).sqrt() as f32
}

fn squared(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Numbers groups in the order of their first points.
fn in_order(groups: &[usize]) -> Vec<usize> {
    let mut seen: Vec<usize> = Vec::new();
    let mut numbers = rustc_hash::FxHashMap::default();
    for group in groups {
        numbers.entry(*group).or_insert_with(|| {
            seen.push(*group);
            seen.len() - 1
        });
    }
    groups.iter().map(|group| numbers[group]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points around `groups` directions of a plane's quarter turns.
    fn points(count: usize, groups: usize) -> Vec<Option<Vec<f64>>> {
        let point = |n: usize| {
            let mut point = vec![0.02; groups];
            point[n % groups] = 1.0 + 0.01 * f64::from(u8::try_from(n % 7).unwrap());
            let length = point.iter().map(|value| value * value).sum::<f64>().sqrt();
            Some(point.into_iter().map(|value| value / length).collect())
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn separated_groups_are_found_whatever_the_order() {
        let found = clusters(&points(60, 4));
        assert!(found.iter().enumerate().all(|(n, group)| *group == Some(n % 4)));
        let mut reversed = points(60, 4);
        reversed.reverse();
        let found = clusters(&reversed);
        assert!(found.iter().enumerate().all(|(n, group)| *group == Some(n % 4)));
    }

    #[test]
    fn more_points_than_fit_are_reduced_first() {
        let (centroids, nearest) =
            k_means(&points(3_000, 5).iter().flatten().map(Vec::as_slice).collect::<Vec<_>>(), 50);
        assert_eq!((centroids.len(), nearest.len()), (50, 3_000));
        let centroids: Vec<&[f64]> = centroids.iter().map(Vec::as_slice).collect();
        let groups = ward(&centroids);
        assert!((0..3_000).all(|n| groups[nearest[n]] == groups[nearest[n % 5]]));
    }

    #[test]
    fn no_points_and_one_point_are_groups_too() {
        assert_eq!(clusters(&[]), []);
        assert_eq!(clusters(&[Some(vec![1.0])]), [Some(0)]);
        assert_eq!(clusters(&[None]), [None]);
    }
}
