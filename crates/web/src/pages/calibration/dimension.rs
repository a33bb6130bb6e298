use maud::{Markup, html};
use ratchet_core::quality::calibration::{Agreement, Grades};
use ratchet_core::stats::agreement::RatingPair;

use crate::components::agreement::{self, Line};
use crate::components::matrix::{self, Matrix};
use crate::components::scatter::{self, Level, Scatter};

/// Draws how far both agree on one dimension.
pub(super) fn draw(one: &Agreement) -> Markup {
    let rated: Vec<RatingPair> = one.pairs.iter().map(|(_, pair)| *pair).collect();
    html! {
        section.agreement-of aria-labelledby="of-dimension" {
            h2 #of-dimension { (one.dimension) }
            div.charts {
                (against(one, &rated))
                (differences(one, &rated))
                @if let Some(grades) = &one.grades { (confusion(grades)) }
            }
            (agreement::table(&format!("Agreement on {}", one.dimension), &lines(one)))
        }
    }
}

fn against(one: &Agreement, rated: &[RatingPair]) -> Markup {
    let points: Vec<(f64, f64)> = rated.iter().map(|pair| (pair.human, pair.judge)).collect();
    let title = format!("{}: the judge against people", one.dimension);
    scatter::scatter(&Scatter {
        title: &title,
        x: "people",
        y: "judge",
        points: &points,
        levels: &[],
    })
}

/// How far single verdicts are off, after Bland and Altman.
fn differences(one: &Agreement, rated: &[RatingPair]) -> Markup {
    let point =
        |pair: &RatingPair| (f64::midpoint(pair.human, pair.judge), pair.judge - pair.human);
    let points: Vec<(f64, f64)> = rated.iter().map(point).collect();
    let mut levels = vec![Level { at: 0.0, name: "no difference".to_owned() }];
    if let Ok(bias) = one.bias {
        levels.push(Level { at: bias.value, name: format!("bias {}", agreement::two(bias.value)) });
    }
    if let Ok((lower, upper)) = one.limits {
        levels.extend([lower, upper].map(|limit| Level {
            at: limit.value,
            name: format!("limit {}", agreement::two(limit.value)),
        }));
    }
    let title = format!("{}: judge minus people, by their mean", one.dimension);
    let (x, y) = ("mean of both", "judge minus people");
    scatter::scatter(&Scatter { title: &title, x, y, points: &points, levels: &levels })
}

fn confusion(grades: &Grades) -> Markup {
    let label = |at: usize| grades.labels.get(at).cloned().unwrap_or_default();
    let mut pairs = Vec::new();
    for (row, counts) in grades.confusion.rows().iter().enumerate() {
        for (column, count) in counts.iter().enumerate() {
            pairs.extend((0..*count).map(|_| (label(row), label(column))));
        }
    }
    let title = "How often the judge gave which grade where people gave which";
    matrix::ordered(
        &Matrix { title, rows: "people", columns: "judge", pairs: &pairs },
        &grades.labels,
    )
}

fn lines(one: &Agreement) -> Vec<Line<'static>> {
    let line = |name, statistic, says| Line { name, says, statistic };
    let mut lines = vec![
        line("Pearson", one.pearson, "how closely both follow one line; 1 is exactly"),
        line("Spearman", one.spearman, "how closely both put sessions into the same order"),
        line("Mean absolute error", one.error, "how far apart they are on average"),
        line("Bias", one.bias, "how much more than people the judge gives"),
        line("Lower limit", one.limits.map(|(lower, _)| lower), "95 of 100 differences lie above"),
        line("Upper limit", one.limits.map(|(_, upper)| upper), "95 of 100 differences lie below"),
        line(
            "Sensitivity",
            one.sensitivity,
            "share of the problems people see that the judge finds",
        ),
        line(
            "Specificity",
            one.specificity,
            "share of the good sessions that the judge finds good",
        ),
    ];
    if let Some(grades) = &one.grades {
        lines.extend([
            line("Same grade", grades.agreement, "how often both give the same"),
            line(
                "Cohen's kappa",
                grades.kappa,
                "the same beyond chance; low where one grade is rare",
            ),
            line("Weighted kappa", grades.weighted_kappa, "near misses count for something"),
            line("Gwet's AC1", grades.ac1, "the same beyond chance, also where one grade is rare"),
        ]);
    }
    lines.push(line("Krippendorff's alpha", one.people, "how far people agree among themselves"));
    lines
}
