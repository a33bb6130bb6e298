//! What pages are made of. Each part is a function from data to markup, and stands in the gallery.

pub mod icon;
/// Numbers, times and money as people read them.
pub mod figure;
/// Words with a meaning: kinds of steps, levels, who decided.
pub mod badge;
/// A number with its unit, its interval and where it came from.
pub mod stat;
pub mod table;
/// The frame of a drawing.
pub mod plot;
pub mod chart;
pub mod bars;
/// Two numbers, one against the other.
pub mod scatter;
/// How far something moved, and how sure that is.
pub(crate) mod whisker;
/// Two judges, label by label.
pub mod matrix;
/// How far two agree, statistic by statistic.
pub mod agreement;
/// What somebody should look at first.
pub mod alarm;
pub mod lanes;
pub mod copy;
pub mod field;
/// A filter, typed or clicked.
pub(crate) mod filter_bar;
/// What will be here once there is something.
pub mod empty;
/// Short words that come and go.
pub mod toast;
/// Questions that must be answered first.
pub mod dialog;
/// Recorded JSON, to open and close.
pub mod json;
/// What changed between two texts.
pub mod diff;
/// Code, its words told apart.
pub(crate) mod code;
pub(crate) mod markdown;
pub(crate) mod message;
pub(crate) mod tree;
/// A thin strip of time.
pub(crate) mod strip;
pub(crate) mod graph;
pub(crate) mod stack;
