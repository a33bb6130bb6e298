use super::float;
use super::interval::{self, Estimate, Interval, Z_95, share, student_95};
use super::undefined::Undefined;

/// A confusion matrix: a row for each category of the person, a column for each of the judge, in
/// the order of the categories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    counts: Vec<Vec<u64>>,
    total: u64,
}

/// The weighting of disagreement by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Unweighted.
    Same,
    Linear,
    Quadratic,
}

impl Confusion {
    /// Counts pairs of category indices (person, judge); indices out of range are skipped.
    pub fn of(categories: usize, verdicts: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut counts = vec![vec![0; categories]; categories];
        let mut total = 0;
        for (human, judge) in verdicts {
            if let Some(count) = counts.get_mut(human).and_then(|row| row.get_mut(judge)) {
                *count += 1;
                total += 1;
            }
        }
        Self { counts, total }
    }

    /// Returns the counts, a row for each category of the person.
    pub fn rows(&self) -> &[Vec<u64>] {
        &self.counts
    }

    /// Returns the observed agreement.
    ///
    /// # Errors
    /// No verdicts.
    pub fn agreement(&self) -> Result<Estimate, Undefined> {
        let same = self.cells().filter(|(row, column, _)| row == column);
        share(same.map(|(.., count)| count).sum(), self.total).ok_or(Undefined::Empty)
    }

    /// Returns the recall (sensitivity) of a category: how often the judge gave it when the person
    /// did.
    ///
    /// # Errors
    /// The person never gave the category.
    pub fn found(&self, category: usize) -> Result<Estimate, Undefined> {
        let row = self.counts.get(category);
        let (hits, all) = row.map_or((0, 0), |row| {
            (row.get(category).copied().unwrap_or_default(), row.iter().sum::<u64>())
        });
        share(hits, all).ok_or(Undefined::Empty)
    }

    /// Returns the specificity of a category: how often the judge gave another one when the person
    /// did.
    ///
    /// # Errors
    /// The person always gave the category.
    pub fn spared(&self, category: usize) -> Result<Estimate, Undefined> {
        let others = || self.cells().filter(|(row, ..)| *row != category);
        let all = others().map(|(.., count)| count).sum();
        let hits = others().filter(|(_, column, _)| *column != category);
        share(hits.map(|(.., count)| count).sum(), all).ok_or(Undefined::Empty)
    }

    /// Returns Cohen's kappa: agreement beyond chance.
    ///
    /// The standard error is that of Fleiss, Cohen and Everitt. Where one category is rare, kappa
    /// is low whatever the judge does: show [`Confusion::ac1`], [`Confusion::found`] and
    /// [`Confusion::spared`] beside it.
    ///
    /// # Errors
    /// No ratings, a single one, or only one category in use.
    pub fn kappa(&self, weighting: Weighting) -> Result<Estimate, Undefined> {
        self.check()?;
        let n = self.n();
        let (rows, columns) = self.habits();
        let weight = |row, column| weighting.weight(row, column, self.counts.len());
        let mean_of = |habits: &[f64], fixed: usize| -> f64 {
            habits.iter().enumerate().map(|(at, habit)| habit * weight(fixed, at)).sum()
        };
        let seen: f64 = self.shares().map(|(row, column, p)| p * weight(row, column)).sum();
        let chance: f64 =
            rows.iter().enumerate().map(|(row, habit)| habit * mean_of(&columns, row)).sum();
        let kappa = (seen - chance) / (1.0 - chance);
        let spread: f64 = self
            .shares()
            .map(|(row, column, p)| {
                let by_chance = mean_of(&columns, row) + mean_of(&rows, column);
                p * (weight(row, column) * (1.0 - chance) - by_chance * (1.0 - seen)).powi(2)
            })
            .sum();
        let spread = spread - (seen * chance - 2.0 * chance + seen).powi(2);
        let error = (spread.max(0.0) / n).sqrt() / (1.0 - chance).powi(2);
        Ok(self.estimate(kappa, Z_95 * error))
    }

    /// Returns Gwet's AC1: agreement beyond chance that stays meaningful where one category is
    /// rare.
    ///
    /// # Errors
    /// No ratings, a single one, or fewer than two categories.
    pub fn ac1(&self) -> Result<Estimate, Undefined> {
        Undefined::check(length(self.total), 2)?;
        Undefined::check(self.counts.len(), 2)?;
        let (n, q) = (self.n(), float(self.counts.len()));
        let (rows, columns) = self.habits();
        let habits: Vec<f64> = rows.iter().zip(&columns).map(|(a, b)| (a + b) / 2.0).collect();
        let rarity = |at: usize| 1.0 - habits.get(at).copied().unwrap_or_default();
        let chance = habits.iter().map(|habit| habit * (1.0 - habit)).sum::<f64>() / (q - 1.0);
        let seen: f64 =
            self.shares().filter(|(row, column, _)| row == column).map(|(.., p)| p).sum();
        let ac1 = (seen - chance) / (1.0 - chance);
        let squares: f64 = self
            .cells()
            .map(|(row, column, count)| {
                let same = if row == column { 1.0 } else { 0.0 };
                let own_chance = f64::midpoint(rarity(row), rarity(column)) / (q - 1.0);
                let own = (same - chance) / (1.0 - chance);
                let own = own - 2.0 * (1.0 - ac1) * (own_chance - chance) / (1.0 - chance);
                interval::float(count) * (own - ac1).powi(2)
            })
            .sum();
        let error = (squares / (n * (n - 1.0))).sqrt();
        Ok(self.estimate(ac1, student_95(n - 1.0) * error))
    }

    /// Rejects input for which agreement beyond chance is undefined.
    fn check(&self) -> Result<(), Undefined> {
        Undefined::check(length(self.total), 2)?;
        let (rows, columns) = self.habits();
        let alone = |habits: &[f64]| habits.iter().position(|habit| (1.0 - habit).abs() < 1e-15);
        match (alone(&rows), alone(&columns)) {
            (Some(human), Some(judge)) if human == judge => Err(Undefined::ConstantInput),
            _ => Ok(()),
        }
    }

    fn estimate(&self, value: f64, half: f64) -> Estimate {
        let interval = Interval { lower: (value - half).max(-1.0), upper: (value + half).min(1.0) };
        Estimate { value, interval: Some(interval), n: self.total }
    }

    fn n(&self) -> f64 {
        interval::float(self.total)
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.counts.iter().enumerate().flat_map(|(row, counts)| {
            counts.iter().enumerate().map(move |(column, count)| (row, column, *count))
        })
    }

    fn shares(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let n = self.n();
        self.cells().map(move |(row, column, count)| (row, column, interval::float(count) / n))
    }

    /// Returns the marginal frequencies of person and judge.
    fn habits(&self) -> (Vec<f64>, Vec<f64>) {
        let mut habits = (vec![0.0; self.counts.len()], vec![0.0; self.counts.len()]);
        for (row, column, share) in self.shares() {
            for (side, at) in [(&mut habits.0, row), (&mut habits.1, column)] {
                if let Some(habit) = side.get_mut(at) {
                    *habit += share;
                }
            }
        }
        habits
    }
}

impl Weighting {
    /// Returns the agreement weight: 1 for equal categories, 0 for the ends of the scale.
    fn weight(self, row: usize, column: usize, categories: usize) -> f64 {
        let apart = float(row.abs_diff(column)) / float(categories.saturating_sub(1).max(1));
        match self {
            Self::Same => f64::from(u8::from(row == column)),
            Self::Linear => 1.0 - apart,
            Self::Quadratic => 1.0 - apart * apart,
        }
    }
}

/// Converts a count of ratings that fit in memory.
fn length(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::{near, near_by};

    fn table(rows: &[&[u64]]) -> Confusion {
        let verdict =
            |row: usize, column: usize, count: u64| (0..count).map(move |_| (row, column));
        let verdicts = rows.iter().enumerate().flat_map(|(row, counts)| {
            counts.iter().enumerate().flat_map(move |(column, count)| verdict(row, column, *count))
        });
        Confusion::of(rows.len(), verdicts)
    }

    /// Reference values for five grades, from scikit-learn and irrCAC.
    #[test]
    fn five_grades() {
        let grades = table(&[
            &[1, 1, 0, 0, 0],
            &[0, 2, 2, 0, 0],
            &[0, 1, 3, 1, 0],
            &[0, 0, 0, 3, 2],
            &[0, 0, 0, 1, 3],
        ]);
        near(grades.kappa(Weighting::Same).unwrap().value, 0.487_179_487_179_487_1);
        near(grades.kappa(Weighting::Linear).unwrap().value, 0.712_230_215_827_338_1);
        near(grades.kappa(Weighting::Quadratic).unwrap().value, 0.869_918_699_186_991_8);
        let ac1 = grades.ac1().unwrap();
        near_by(ac1.value, 0.5033, 1e-5);
        near_by(ac1.interval.unwrap().lower, 0.2112, 1e-4);
        near_by(ac1.interval.unwrap().upper, 0.7954, 1e-4);
    }

    #[track_caller]
    fn check(rows: &[&[u64]], kappa: [f64; 3], ac1: [f64; 3], found: f64, spared: f64) {
        let table = table(rows);
        let of = |estimate: Estimate| {
            let Interval { lower, upper } = estimate.interval.unwrap();
            [estimate.value, lower, upper]
        };
        for (is, want) in of(table.kappa(Weighting::Same).unwrap()).into_iter().zip(kappa) {
            near(is, want);
        }
        for (is, want) in of(table.ac1().unwrap()).into_iter().zip(ac1) {
            near_by(is, want, 1e-5);
        }
        near(table.found(0).unwrap().value, found);
        near(table.spared(0).unwrap().value, spared);
    }

    /// Binary ratings: statsmodels' kappa with its error, irrCAC's AC1.
    #[test]
    fn two_categories() {
        check(
            &[&[40, 5], &[9, 46]],
            [0.719_438_877_755_511, 0.583_599_956_513_755_6, 0.855_277_798_997_266_3],
            [0.721, 0.582_81, 0.8592],
            0.888_888_888_888_888_8,
            0.836_363_636_363_636_3,
        );
        check(
            &[&[90, 4], &[5, 1]],
            [0.134_615_384_615_384_7, -0.183_096_621_310_468_83, 0.452_327_390_541_240_2],
            [0.899_56, 0.830_19, 0.968_93],
            0.957_446_808_510_638_3,
            0.166_666_666_666_666_66,
        );
        check(
            &[&[171, 15], &[9, 55]],
            [0.755_501_222_493_887_5, 0.663_293_014_679_305, 0.847_709_430_308_470_2],
            [0.842_01, 0.778_04, 0.905_99],
            0.919_354_838_709_677_4,
            0.859_375,
        );
        // The formula's upper bound, 1.09, is clamped to 1.
        check(
            &[&[29, 1], &[1, 1]],
            [0.466_666_666_666_666_7, -0.160_400_811_283_635_26, 1.0],
            [0.9292, 0.822_58, 1.0],
            0.966_666_666_666_666_7,
            0.5,
        );
    }

    /// Two people on 106 runs of web agents (AgentRewardBench): the human ceiling.
    #[test]
    fn people_among_themselves() {
        let success = table(&[&[60, 6], &[6, 33]]);
        near(success.agreement().unwrap().value, 0.885_714_285_714_285_7);
        near(success.kappa(Weighting::Same).unwrap().value, 0.755_244_755_244_755_2);
        near_by(success.ac1().unwrap().value, 0.7856, 1e-5);
        let optimality = table(&[&[18, 5, 0, 0], &[15, 11, 4, 0], &[1, 4, 6, 6], &[0, 2, 4, 29]]);
        near(optimality.kappa(Weighting::Quadratic).unwrap().value, 0.837_158_808_933_002_4);
        near_by(optimality.ac1().unwrap().value, 0.483_47, 1e-5);
    }

    #[test]
    fn unknown_values_have_a_reason() {
        let kappa = |rows: &[&[u64]]| table(rows).kappa(Weighting::Same).map(|kappa| kappa.value);
        assert_eq!(kappa(&[&[0, 0], &[0, 0]]), Err(Undefined::Empty));
        assert_eq!(kappa(&[&[1, 0], &[0, 0]]), Err(Undefined::TooFew { have: 1, needed: 2 }));
        assert_eq!(kappa(&[&[6, 0], &[0, 0]]), Err(Undefined::ConstantInput));
        near(kappa(&[&[0, 6], &[0, 0]]).unwrap(), 0.0);
        assert_eq!(table(&[&[0, 0], &[1, 1]]).found(0), Err(Undefined::Empty));
        assert_eq!(table(&[&[1, 1], &[0, 0]]).spared(0), Err(Undefined::Empty));
        assert_eq!(Confusion::of(2, [(2, 0)]).agreement(), Err(Undefined::Empty));
    }

    proptest! {
        #[test]
        fn raters_may_change_sides(
            verdicts in prop::collection::vec((0..4_usize, 0..4_usize), 2..60),
        ) {
            let one = Confusion::of(4, verdicts.clone());
            let other = Confusion::of(4, verdicts.iter().map(|(human, judge)| (*judge, *human)));
            for weighting in [Weighting::Same, Weighting::Linear, Weighting::Quadratic] {
                let (one, other) = (one.kappa(weighting), other.kappa(weighting));
                prop_assert_eq!(one.is_ok(), other.is_ok());
                let (Ok(one), Ok(other)) = (one, other) else { continue };
                prop_assert!((one.value - other.value).abs() < 1e-9);
                let Interval { lower, upper } = one.interval.unwrap();
                prop_assert!(lower <= one.value + 1e-9 && one.value <= upper + 1e-9);
            }
        }

        #[test]
        fn perfect_agreement_has_kappa_one(verdicts in prop::collection::vec(0..4_usize, 2..60)) {
            let table = Confusion::of(4, verdicts.into_iter().map(|verdict| (verdict, verdict)));
            prop_assert!((table.ac1().unwrap().value - 1.0).abs() < 1e-9);
            if let Ok(kappa) = table.kappa(Weighting::Quadratic) {
                prop_assert!((kappa.value - 1.0).abs() < 1e-9);
            }
        }
    }
}
