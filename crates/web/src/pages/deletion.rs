//! The question before something is deleted: what goes with it, and a way back.

use maud::{Markup, html};

use crate::frame::Page;
use crate::request_context::{Link, RequestContext};

/// What is asked.
pub(super) struct DeletionQuestion {
    /// `Delete …?`.
    pub(super) title: String,
    /// What is lost with it, and what stays.
    pub(super) lost: Markup,
    /// Where the form is sent.
    pub(super) action: Link,
    /// Where those go who do not.
    pub(super) back: Link,
}

/// The page with the question.
pub(super) fn ask(ctx: &RequestContext, page: Page, question: &DeletionQuestion) -> Markup {
    let page = Page {
        title: question.title.clone(),
        summary: Markup::default(),
        action: Markup::default(),
        body: html! {
            section.question data-question=(question.title) {
                (question.lost)
                form method="post" data-inline-errors action=(question.action) {
                    (ctx.viewer.form_token.field())
                    input type="hidden" name="sure" value="yes";
                    p.actions {
                        button.button.danger type="submit" { "Delete" } " "
                        a.button href=(question.back) data-keep { "Cancel" }
                    }
                }
            }
        },
        ..page
    };
    page.show(ctx)
}
