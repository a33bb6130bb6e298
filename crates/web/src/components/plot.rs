//! The frame of a drawing. The drawing takes what room there is; its labels keep their size.

use maud::{Markup, html};

use crate::request_context::Link;

/// The height of a drawing, in pixels.
pub const HEIGHT: f64 = 150.0;
/// The width of a drawing, in units that grow with the room it gets.
pub const WIDTH: f64 = 1000.0;
/// What is left free above the greatest value.
const TOP: f64 = 8.0;
/// The height of a label at the end of a line.
const LABEL: f64 = 13.0;
/// Letters of a label that fit beside a drawing.
const LETTERS: usize = 16;

/// Height of a plot. Shapes are stretched to it; labels are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotHeight {
    Low,
    #[default]
    Usual,
    /// In a tile.
    High,
    /// In a tile that takes most of a screen.
    Higher,
}

impl PlotHeight {
    /// Height in pixels, as in the style sheet.
    const fn pixels(self) -> f64 {
        match self {
            Self::Low => 90.0,
            Self::Usual => HEIGHT,
            Self::High => 220.0,
            Self::Higher => 360.0,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Low => "plot low",
            Self::Usual => "plot",
            Self::High => "plot high",
            Self::Higher => "plot higher",
        }
    }
}

/// A drawing with its labels.
#[derive(Debug)]
pub struct Plot<'a> {
    pub title: &'a str,
    /// Labels of the y axis with their positions from 0 to 1; each has a grid line.
    pub scale: Vec<(f64, String)>,
    /// Labels of the x axis with their positions from 0 to 1.
    pub below: Vec<(f64, String)>,
    /// Labels of series at the right.
    pub ends: Vec<End<'a>>,
    pub drawing: Markup,
    pub tall: PlotHeight,
}

/// A name at the right of a drawing.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// How far down, as near as others let it.
    pub y: f64,
    pub hue: usize,
    pub name: &'a str,
    /// Where its records are listed.
    pub link: Option<&'a Link>,
}

/// How far down a part of the whole height is.
pub fn y_of(part: f64) -> f64 {
    HEIGHT - part * (HEIGHT - TOP)
}

pub fn plot(plot: &Plot<'_>) -> Markup {
    let stretch = plot.tall.pixels() / HEIGHT;
    html! {
        div class=(plot.tall.class()) {
            svg.scale aria-hidden="true" {
                @for (part, text) in &plot.scale {
                    text.axis.end x="100%" y=(y_of(*part) * stretch + 4.0) { (text) }
                }
            }
            svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none"
                role="img" aria-label=(plot.title) {
                @for (part, _) in &plot.scale {
                    line.grid x1="0" x2=(WIDTH) y1=(y_of(*part)) y2=(y_of(*part)) {}
                }
                (plot.drawing)
            }
            @if !plot.ends.is_empty() { (ends(&plot.ends, plot.tall)) }
            svg.below aria-hidden="true" {
                @for (index, (part, text)) in plot.below.iter().enumerate() {
                    text class={ "axis middle" @if index % 2 == 1 { " spare" } }
                         x={ (format!("{:.2}", part * 100.0)) "%" } y="13" { (text) }
                }
            }
        }
    }
}

fn ends(ends: &[End<'_>], tall: PlotHeight) -> Markup {
    let floor = tall.pixels();
    let wanted: Vec<f64> = ends.iter().map(|end| end.y * floor / HEIGHT).collect();
    html! {
        svg.ends aria-hidden="true" {
            @for (end, y) in ends.iter().zip(apart(&wanted, floor)) {
                text class={ "direct hue-" (end.hue) } data-href=[end.link] x="0" y=(y + 4.0) {
                    (short(end.name))
                    title { (end.name) }
                }
            }
        }
    }
}

fn short(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['…']).collect()
}

/// Moves labels down until none covers another, and up again where they would leave the drawing.
fn apart(ends: &[f64], floor: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|one, other| ends[*one].total_cmp(&ends[*other]));
    let mut placed = ends.to_vec();
    for pair in order.windows(2) {
        placed[pair[1]] = placed[pair[1]].max(placed[pair[0]] + LABEL);
    }
    let mut floor = floor;
    for index in order.into_iter().rev() {
        placed[index] = placed[index].min(floor);
        floor = placed[index] - LABEL;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other() {
        let placed = apart(&[140.0, 140.0, 20.0, 149.0], HEIGHT);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL), "{placed:?}");
        assert!(sorted.last().is_some_and(|last| *last <= HEIGHT), "{placed:?}");
        assert_eq!(placed[2], 20.0);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short("prod"), "prod");
        assert_eq!(short("claude-haiku-4-5-20251001"), "claude-haiku-4-…");
    }
}
