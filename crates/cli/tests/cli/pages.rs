//! Every page, in a real browser, against real servers.

/// The browser and the servers that all these tests share.
mod stage;
/// Requests that must be taken.
pub(crate) mod writer;
/// What people add to recorded traffic.
mod furnish;
/// What a judge and people say of sessions.
mod trusted;
mod weekly;
mod list;
/// Pages that answer a form.
mod answers;
/// Nothing goes wrong when a page is opened, whatever it is looked at with.
mod clean;
/// No link leads nowhere.
mod links;
/// Text that somebody wrote to harm.
mod hostile;
/// Keys or a mouse.
mod hand;
mod quality;
/// One trace, read with keys and with the mouse.
mod trace;
/// Lists: filters, rows, what is done with chosen ones.
mod lists;
/// What lists give: one row beside them, and files.
mod exports;
/// What pages let people do with what they show.
mod acting;
mod people;
/// Evaluators and rules by their forms.
mod evaluators;
mod prompts;
/// Compared runs, and chats with targets.
mod experiments;
/// Reviews of queue items.
mod review;
/// Cases of datasets: uploaded, added, changed.
mod cases;
/// What a project settles, and who changed it.
mod settings;
/// Notification receivers.
mod notices;
mod chats;
/// Connections to models, and prompts tried on them.
mod models;
/// Home, dashboards, and what every page has.
mod around;
/// Dashboards of one's own.
mod boards;
/// Setting up, signing in, one's own account.
mod sign_in;
/// What pages cost when there is much to show.
mod budget;
mod screenshots;

use ratchet_browser::{Page, Size, Theme};

/// What a page is looked at with.
#[derive(Clone, Copy, Debug)]
struct Look {
    name: &'static str,
    size: Size,
    theme: Theme,
}

const LIGHT: Look = Look { name: "light", size: Size::Laptop, theme: Theme::Light };
const DARK: Look = Look { name: "dark", size: Size::Laptop, theme: Theme::Dark };
const PHONE: Look = Look { name: "phone", size: Size::Phone, theme: Theme::Light };
const WIDE: Look = Look { name: "wide", size: Size::Wide, theme: Theme::Dark };

impl Look {
    fn at(self, page: &Page) {
        page.size(self.size);
        page.theme(self.theme);
    }
}

/// Fails with all that was found at once: pages are slow to look at, so each run should tell all.
#[track_caller]
fn report(found: &[String]) {
    assert!(found.is_empty(), "{} complaints:\n{}", found.len(), found.join("\n"));
}
