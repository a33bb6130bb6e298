use maud::{Markup, html};
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_stages::notify::{self, JiraRequest, NotificationRequestError};
use ratchet_store::catalog::NewReceiver;

use super::{NAME, URL};
use crate::components::field::{self, Entered, FormField};
use crate::pages::settings::Tab;
use crate::request_context::RequestContext;

/// Which form it is.
const FORMAT: &str = "format";
const EMAIL: &str = "email";
const GITHUB: &str = "github";
const JIRA: &str = "jira";

const ADDRESS: FormField<'_> = FormField {
    name: "email",
    label: "E-mail address",
    hint: "Gets weekly documents. The server needs smtp.server and smtp.from in ratchet.toml.",
};
const TRACKER: FormField<'_> = FormField {
    name: FORMAT,
    label: "Type",
    hint: "Gets one issue for each proposal that is worth a task.",
};
const TRACKERS: [(&str, &str); 2] = [(GITHUB, "GitHub"), (JIRA, "Jira")];
const TOKEN: FormField<'_> = FormField {
    name: "token",
    label: "Token",
    hint: "May create issues. Encrypted at rest and never shown again.",
};
const USER: FormField<'_> = FormField {
    name: "user",
    label: "User of the token",
    hint: "Jira Cloud only: the user's e-mail address.",
};
const PROJECT: FormField<'_> =
    FormField { name: "jiraProject", label: "Project key", hint: "Jira only, such as SHOP." };

/// The forms. What was entered is shown in the form that it was entered in.
pub(super) fn forms(ctx: &RequestContext, entered: &Entered) -> Markup {
    let empty = Entered::preset(&[(FORMAT, GITHUB)]);
    let of = |formats: &[&str]| {
        if formats.contains(&entered.text(FORMAT)) { entered } else { &empty }
    };
    let (email, tracker) = (of(&[EMAIL]), of(&[GITHUB, JIRA]));
    html! {
        section.settings #add-email {
            h2 { "Add e-mail" }
            form method="post" action=(Tab::Notifications.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name=(FORMAT) value=(EMAIL);
                (field::problem(email))
                (field::line(NAME, email))
                (field::line(ADDRESS, email))
                button.button.primary type="submit" { "Add e-mail" }
            }
        }
        section.settings #add-tracker {
            h2 { "Add issue tracker" }
            form method="post" action=(Tab::Notifications.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::problem(tracker))
                (field::line(NAME, tracker))
                (field::choice(TRACKER, &TRACKERS, tracker))
                (field::line(FormField { hint: ISSUES, ..URL }, tracker))
                (field::secret(TOKEN, tracker))
                (field::line(USER, tracker))
                (field::line(PROJECT, tracker))
                button.button.primary type="submit" { "Add issue tracker" }
            }
        }
    }
}

const ISSUES: &str = "https://api.github.com/repos/OWNER/NAME/issues or \
    https://SITE.atlassian.net/rest/api/3/issue";

/// The receiver that one of these forms adds; `None` if it was another form.
pub(super) fn entered(
    entered: &Entered,
    outbound: &OutboundPolicy,
) -> Option<Result<NewReceiver, NotificationRequestError>> {
    let (name, url, token) = (entered.text("name"), entered.text("url"), entered.raw("token"));
    match entered.text(FORMAT) {
        EMAIL => {
            let events = vec![NotificationKind::ImprovementReport];
            Some(notify::email(name, entered.text(ADDRESS.name), events))
        }
        GITHUB => Some(notify::github(name, (url, token), outbound)),
        JIRA => {
            let (user, project) = (entered.text(USER.name), entered.text(PROJECT.name));
            Some(notify::jira(JiraRequest { name, url, user, token, project }, outbound))
        }
        _ => None,
    }
}
