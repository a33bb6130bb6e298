//! What pages are made of. Each part is a function from data to markup, and stands in the gallery.

/// Small drawings.
pub mod icon;
/// Numbers, times and money as people read them.
pub mod figure;
/// Words with a meaning: kinds of steps, levels, who decided.
pub mod badge;
/// A number with its unit, its interval and where it came from.
pub mod stat;
/// Rows and columns.
pub mod table;
/// The frame of a drawing.
pub mod plot;
/// Drawings of numbers.
pub mod chart;
/// How values lie.
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
/// Who worked when.
pub mod lanes;
/// Texts to copy.
pub mod copy;
/// Fields of forms.
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
/// Recorded Markdown.
pub(crate) mod markdown;
/// Messages of a conversation.
pub(crate) mod message;
/// A tree of steps.
pub(crate) mod tree;
/// A thin strip of time.
pub(crate) mod strip;
/// Who called whom.
pub(crate) mod graph;
/// Parts of a whole.
pub(crate) mod stack;
