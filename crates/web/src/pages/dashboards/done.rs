use maud::{Markup, html};

use crate::components::toast;
use crate::request_context::RequestContext;

/// Result of a form, shown once on the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Created,
    Cloned,
    Changed,
    Removed,
    Placed,
    TakenOff,
    Deleted,
}

impl Done {
    const ALL: [Self; 7] = [
        Self::Created,
        Self::Cloned,
        Self::Changed,
        Self::Removed,
        Self::Placed,
        Self::TakenOff,
        Self::Deleted,
    ];

    /// Code in the URL: not the text itself, so that links cannot inject text.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Cloned => "cloned",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Placed => "placed",
            Self::TakenOff => "taken-off",
            Self::Deleted => "deleted",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Created => "Dashboard created",
            Self::Cloned => "Duplicated",
            Self::Changed => "Saved",
            Self::Removed => "Dashboard deleted",
            Self::Placed => "Chart added",
            Self::TakenOff => "Chart removed from this dashboard",
            Self::Deleted => "Chart deleted",
        }
    }
}

/// Toast for the `done` parameter.
pub(super) fn done_toast(ctx: &RequestContext) -> Markup {
    let word = ctx.params.get("done");
    let done = Done::ALL.into_iter().find(|done| Some(done.word()) == word);
    html! { @if let Some(done) = done { (toast::toast(done.words())) } }
}
