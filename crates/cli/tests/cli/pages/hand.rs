use ratchet_browser::Page;
use serde_json::Value;

use super::LIGHT;
use super::list::fill;
use super::stage::{Served, stage};

/// No list of ours has more rows on a page, no choice more options.
const MOST_STEPS: usize = 120;

/// What a person uses a page with: keys alone, or the mouse for all but writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hand {
    Keys,
    Mouse,
}

impl Hand {
    /// A word for what a hand makes.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Mouse => "mouse",
        }
    }

    /// Follows a link, presses a button, opens what is folded.
    #[track_caller]
    pub(super) fn press(self, page: &Page, selector: &str) {
        match self {
            Self::Keys => {
                page.tab_to(selector);
                page.press("Enter");
            }
            Self::Mouse => {
                page.wait_for(selector);
                page.click(selector);
            }
        }
    }

    /// Chooses a radio button. Only the first of a group is reached with Tab while none is chosen.
    #[track_caller]
    pub(super) fn pick(self, page: &Page, selector: &str) {
        match self {
            Self::Keys => {
                page.tab_to(selector);
                page.press("Space");
            }
            Self::Mouse => page.click(selector),
        }
        page.wait_until(&format!("document.querySelector(`{selector}`).checked"));
    }

    #[track_caller]
    pub(super) fn write(self, page: &Page, selector: &str, text: &str) {
        match self {
            Self::Keys => page.tab_to(selector),
            Self::Mouse => {
                page.wait_for(selector);
                page.click(selector);
            }
        }
        page.type_text(text);
    }

    #[track_caller]
    pub(super) fn choose(self, page: &Page, selector: &str, value: &str) {
        let (quoted, wanted) = (Value::from(selector), Value::from(value));
        let field = format!("document.querySelector({quoted})");
        match self {
            Self::Keys => {
                page.tab_to(selector);
                page.press("Home");
                let is_chosen = format!("{field}.value === {wanted}");
                step_until(page, "ArrowDown", &is_chosen);
            }
            Self::Mouse => {
                // The browser itself draws the options, where no page sees the mouse.
                page.wait_for(selector);
                page.js(&format!("{field}.value = {wanted}"));
                page.js(&format!(
                    "{field}.dispatchEvent(new Event('change', {{ bubbles: true }}))"
                ));
            }
        }
    }

    /// Opens the first row of a list.
    #[track_caller]
    pub(super) fn open_first(self, page: &Page) {
        page.wait_for("table[data-rows] .row-link");
        match self {
            Self::Keys => {
                page.press("j");
                page.press("Enter");
            }
            Self::Mouse => page.click("table[data-rows] .row-link"),
        }
    }

    /// Opens a row of a list.
    #[track_caller]
    pub(super) fn open_row(self, page: &Page, id: &str) {
        match self {
            Self::Keys => {
                step_to(page, id);
                page.press("Enter");
            }
            Self::Mouse => page.click(&format!("{} .row-link", row(id))),
        }
    }

    /// Chooses a row of a list.
    #[track_caller]
    pub(super) fn tick(self, page: &Page, id: &str) {
        match self {
            Self::Keys => {
                step_to(page, id);
                page.press("x");
            }
            Self::Mouse => page.click(&format!("{} input[name=id]", row(id))),
        }
        page.wait_until(&format!("document.querySelector(`{} input[name=id]`).checked", row(id)));
    }
}

fn row(id: &str) -> String {
    format!("tr[data-id=\"{id}\"]")
}

/// Goes up or down a list until a row is the one looked at.
#[track_caller]
fn step_to(page: &Page, id: &str) {
    page.wait_for(&row(id));
    let wanted = format!("document.querySelector(`{}`)", row(id));
    let is_above =
        format!("document.querySelector('tr[aria-selected]')?.rowIndex > {wanted}.rowIndex");
    let key = if page.js(&is_above) == true { "k" } else { "j" };
    step_until(page, key, &format!("{wanted}.ariaSelected === 'true'"));
}

/// Presses a key until something is so.
#[track_caller]
fn step_until(page: &Page, key: &str, is_so: &str) {
    for _ in 0..MOST_STEPS {
        if page.js(is_so) == true {
            return;
        }
        page.press(key);
    }
    panic!("{key} does not lead to {is_so}");
}

/// Does something on a page of a made-up week, with each hand on a fresh page, and sees that
/// nothing goes wrong meanwhile.
#[track_caller]
pub(super) fn with_both(address: &str, task: impl Fn(Hand, &Page, &Served)) {
    with(Hand::Keys, address, &task);
    with(Hand::Mouse, address, &task);
}

/// The same with one of them.
#[track_caller]
pub(super) fn with(hand: Hand, address: &str, task: impl Fn(Hand, &Page, &Served)) {
    let stage = stage();
    let demo = stage.demo();
    let page = stage.browser.page();
    LIGHT.at(&page);
    page.open(&demo.url(&fill(address, &demo.places)));
    task(hand, &page, demo);
    assert_eq!(page.problems(), [], "with {}", hand.word());
}
