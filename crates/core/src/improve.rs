//! Groups of failures: texts of the same problem are found and labelled (ADR 135).
//!
//! Trace text is data here: it is counted and compared, nothing else. No command uses this yet.

/// Groups of similar texts.
pub mod cluster;
/// Texts as vectors: TF-IDF, reduced by a truncated SVD.
pub mod embedding;
/// Terms that distinguish a group of texts.
pub mod label;
/// Terms of texts.
pub mod terms;
