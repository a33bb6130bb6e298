use ratchet_browser::Page;
use ratchet_testkit::process::PROJECT;

use super::LIGHT;
use super::hand::Hand;
use super::stage::{OWNER, PASSWORD, Served, stage};

const NEW: &str = "battery staple";

/// Becomes the first owner, changes the password, signs out and in again.
#[track_caller]
fn check(hand: Hand) {
    let stage = stage();
    // Servers are set up once only.
    let fresh = Served::fresh();
    let page = stage.browser.page();
    LIGHT.at(&page);
    page.open(&fresh.url(&fresh.places["set-up"]));
    hand.write(&page, "[name=email]", OWNER);
    hand.write(&page, "[name=password]", PASSWORD);
    hand.press(&page, "form .primary");
    page.wait_for_path(&format!("/project/{PROJECT}"));

    to_account(hand, &page);
    hand.write(&page, "[name=current]", PASSWORD);
    hand.write(&page, "[name=new]", NEW);
    hand.press(&page, "form[action=\"/account/password\"] button");
    page.wait_until("document.querySelector('[name=current]').value === ''");
    hand.press(&page, "form[action=\"/sign-out\"] button");
    page.wait_for_path("/sign-in");

    hand.write(&page, "[name=email]", OWNER);
    hand.write(&page, "[name=password]", NEW);
    hand.press(&page, "form .primary");
    page.wait_for_path(&format!("/project/{PROJECT}"));
    assert_eq!(page.problems(), []);
}

fn to_account(hand: Hand, page: &Page) {
    hand.press(page, "summary[aria-label^=\"Account:\"]");
    hand.press(page, ".menu[open] a[href=\"/account\"]");
    page.wait_for_path("/account");
}

#[test]
fn an_owner_comes_in_with_keys_alone() {
    check(Hand::Keys);
}

#[test]
fn an_owner_comes_in_with_the_mouse() {
    check(Hand::Mouse);
}
