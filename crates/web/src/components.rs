//! Reusable components. Each is a function from data to markup and is shown in the gallery.

pub mod icon;
/// Formatting of numbers, times and money.
pub mod figure;
/// Badges: observation types, levels, score sources.
pub mod badge;
/// A statistic with unit, interval and provenance.
pub mod stat;
pub mod table;
/// Axes and frame of a chart.
pub mod plot;
pub mod chart;
pub mod bars;
/// Scatter plot.
pub mod scatter;
/// Mean difference with its confidence interval.
pub(crate) mod whisker;
/// Confusion matrix.
pub mod matrix;
/// Table of agreement statistics.
pub mod agreement;
/// Judge drift alerts.
pub mod alarm;
pub mod lanes;
pub mod copy;
pub mod field;
/// Filter input and chips.
pub(crate) mod filter_bar;
/// Empty state.
pub mod empty;
/// Toast messages.
pub mod toast;
/// Modal dialog.
pub mod dialog;
/// Collapsible JSON viewer.
pub mod json;
/// Text diff.
pub mod diff;
/// Syntax highlighting.
pub(crate) mod code;
pub(crate) mod markdown;
pub(crate) mod message;
pub(crate) mod tree;
/// Timeline strip.
pub(crate) mod strip;
pub(crate) mod graph;
pub(crate) mod stack;
