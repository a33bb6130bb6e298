//! The backlog: proposals from every source, from the first week to production.
//!
//! A person decides: nothing is accepted, tried or rejected without one. What gates and promotions do
//! with the prompt version of a proposal moves it along.

/// Proposals from what was found.
mod content;
/// Texts that people enter.
mod redaction;
/// How far a proposal is, and what moves it.
mod status;

pub use content::{ProposalContent, ProposalSource, SuggestionFacts};
pub use status::{
    GateLink, PromptVersion, ProposalAction, ProposalMove, ProposalRefused, ProposalRejection,
    ProposalState, ProposalStatus, RejectionKind,
};

#[cfg(test)]
mod tests;
