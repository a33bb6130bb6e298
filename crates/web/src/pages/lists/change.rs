use axum::response::Redirect;
use maud::{Markup, html};

use crate::components::toast;
use crate::filter::ListKind;
use crate::request_context::{Link, Params, RequestContext};

/// Result of a form, shown once on the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// So many rows got a tag.
    Tagged(usize),
    /// So many traces or sessions have a bookmark now.
    Bookmarked(usize),
    Unbookmarked(usize),
    /// So many rows are in a dataset now.
    Collected(usize),
    /// So many rows wait in a queue now.
    Queued(usize),
    /// So many traces are gone.
    Deleted(usize),
    /// What is shown is a view now.
    SavedView,
    DeletedView,
}

impl Done {
    /// Both together: the same was done with more rows.
    pub(super) fn and(self, more: Self) -> Self {
        match (self, more) {
            (Self::Tagged(one), Self::Tagged(two)) => Self::Tagged(one + two),
            (Self::Bookmarked(one), Self::Bookmarked(two)) => Self::Bookmarked(one + two),
            (Self::Unbookmarked(one), Self::Unbookmarked(two)) => Self::Unbookmarked(one + two),
            (Self::Collected(one), Self::Collected(two)) => Self::Collected(one + two),
            (Self::Queued(one), Self::Queued(two)) => Self::Queued(one + two),
            (Self::Deleted(one), Self::Deleted(two)) => Self::Deleted(one + two),
            (_, more) => more,
        }
    }

    /// Code in the URL: not the text itself, so that links cannot inject text.
    fn word(self) -> String {
        match self {
            Self::Tagged(count) => format!("tagged-{count}"),
            Self::Bookmarked(count) => format!("bookmarked-{count}"),
            Self::Unbookmarked(count) => format!("unbookmarked-{count}"),
            Self::Collected(count) => format!("collected-{count}"),
            Self::Queued(count) => format!("queued-{count}"),
            Self::Deleted(count) => format!("deleted-{count}"),
            Self::SavedView => "saved-view".to_owned(),
            Self::DeletedView => "deleted-view".to_owned(),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "saved-view" => return Some(Self::SavedView),
            "deleted-view" => return Some(Self::DeletedView),
            _ => {}
        }
        let (what, count) = word.split_once('-')?;
        let count = count.parse().ok()?;
        match what {
            "tagged" => Some(Self::Tagged(count)),
            "bookmarked" => Some(Self::Bookmarked(count)),
            "unbookmarked" => Some(Self::Unbookmarked(count)),
            "collected" => Some(Self::Collected(count)),
            "queued" => Some(Self::Queued(count)),
            "deleted" => Some(Self::Deleted(count)),
            _ => None,
        }
    }

    fn words(self, on: ListKind) -> String {
        let one = match (self, on) {
            // Whatever the list, it is traces that have tags and that go.
            (Self::Tagged(_) | Self::Deleted(_), _) | (_, ListKind::Traces) => "trace",
            (Self::Bookmarked(_) | Self::Unbookmarked(_), ListKind::Observations) => "trace",
            (_, ListKind::Observations) => "observation",
            (_, ListKind::Sessions) => "session",
        };
        let counted =
            |count: usize| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        match self {
            Self::Tagged(count) => format!("{} tagged", counted(count)),
            Self::Bookmarked(count) => format!("{} bookmarked", counted(count)),
            Self::Unbookmarked(count) => format!("Bookmark of {} removed", counted(count)),
            Self::Collected(count) => format!("{} added to the dataset", counted(count)),
            Self::Queued(count) => format!("{} added to the queue", counted(count)),
            Self::Deleted(count) => format!("{} deleted", counted(count)),
            Self::SavedView => "View saved".to_owned(),
            Self::DeletedView => "View deleted".to_owned(),
        }
    }

    /// Redirects back to the list with a toast.
    pub(super) fn back(self, ctx: &RequestContext, on: ListKind, form: &Params) -> Redirect {
        let link = came_from(ctx, on, form).with("done", self.word());
        Redirect::to(&link.to_string())
    }
}

/// Toast for the `done` parameter.
pub(super) fn done_toast(ctx: &RequestContext, on: ListKind) -> Markup {
    let done = ctx.params.get("done").and_then(Done::parse);
    html! { @if let Some(done) = done { (toast::toast(&done.words(on))) } }
}

/// A list, from its start and with nothing chosen.
pub(super) fn list_link(ctx: &RequestContext, on: ListKind) -> Link {
    Link::to_project(&ctx.project.id, &[on.word()])
}

/// The list that a form was sent from.
pub(super) fn came_from(ctx: &RequestContext, on: ListKind, form: &Params) -> Link {
    let back = Params::read(form.get("back").unwrap_or_default());
    back.pairs().fold(list_link(ctx, on), |link, (name, value)| link.and(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_survives_the_address() {
        let all = [
            Done::Tagged(1),
            Done::Bookmarked(5),
            Done::Unbookmarked(6),
            Done::Collected(2),
            Done::Queued(3),
            Done::Deleted(4),
            Done::SavedView,
            Done::DeletedView,
        ];
        for done in all {
            assert_eq!(Done::parse(&done.word()), Some(done));
        }
        for nonsense in ["", "tagged", "tagged-x", "hello-3"] {
            assert_eq!(Done::parse(nonsense), None);
        }
    }
}
