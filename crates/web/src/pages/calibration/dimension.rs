use maud::{Markup, html};
use ratchet_core::quality::calibration::{Agreement, Grades};
use ratchet_core::stats::agreement::RatingPair;

use crate::components::agreement::{self, Line};
use crate::components::matrix::{self, Matrix};
use crate::components::scatter::{self, ReferenceLine, Scatter};

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
    let title = format!("{}: judge vs. human", one.dimension);
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
    let mut levels = vec![ReferenceLine { at: 0.0, name: "no difference".to_owned() }];
    if let Ok(bias) = one.bias {
        levels.push(ReferenceLine {
            at: bias.value,
            name: format!("bias {}", agreement::two(bias.value)),
        });
    }
    if let Ok((lower, upper)) = one.limits {
        levels.extend([lower, upper].map(|limit| ReferenceLine {
            at: limit.value,
            name: format!("limit {}", agreement::two(limit.value)),
        }));
    }
    let title = format!("{}: judge minus human, by their mean", one.dimension);
    let (x, y) = ("mean of both", "judge minus human");
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
    let title = "Confusion matrix of judge and human grades";
    matrix::ordered(
        &Matrix { title, rows: "people", columns: "judge", pairs: &pairs },
        &grades.labels,
    )
}

fn lines(one: &Agreement) -> Vec<Line<'static>> {
    let line = |name, statistic, says| Line { name, says, statistic };
    let mut lines = vec![
        line("Pearson", one.pearson, "linear correlation; 1 is perfect"),
        line("Spearman", one.spearman, "rank correlation; 1 is perfect"),
        line("Mean absolute error", one.error, "average absolute difference"),
        line("Bias", one.bias, "judge minus human, on average"),
        line("Lower limit", one.limits.map(|(lower, _)| lower), "95% limit of agreement, lower"),
        line("Upper limit", one.limits.map(|(_, upper)| upper), "95% limit of agreement, upper"),
        line(
            "Sensitivity",
            one.sensitivity,
            "share of problems seen by humans that the judge flags",
        ),
        line("Specificity", one.specificity, "share of good sessions the judge passes"),
    ];
    if let Some(grades) = &one.grades {
        lines.extend([
            line("Exact agreement", grades.agreement, "share of identical grades"),
            line(
                "Cohen's kappa",
                grades.kappa,
                "agreement beyond chance; low where one grade is rare",
            ),
            line(
                "Weighted kappa",
                grades.weighted_kappa,
                "agreement beyond chance with partial credit for near misses",
            ),
            line(
                "Gwet's AC1",
                grades.ac1,
                "agreement beyond chance; robust where one grade is rare",
            ),
        ]);
    }
    lines.push(line("Krippendorff's alpha", one.people, "agreement among reviewers"));
    lines
}
