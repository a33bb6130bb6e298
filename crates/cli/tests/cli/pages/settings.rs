use ratchet_browser::Page;
use ratchet_testkit::process::PROJECT;

use super::hand::{Hand, with_both};
use super::stage::Served;

/// The words that stand in the row of a table that has some other words in it.
fn row_with(words: &str) -> String {
    format!(
        "[...document.querySelectorAll('tbody tr')].find((row) => row.innerText.includes('{words}'))"
    )
}

/// From anywhere to the keys of the project.
#[track_caller]
fn go_to_keys(hand: Hand, page: &Page) {
    match hand {
        Hand::Keys => {
            page.press("g");
            page.press("e");
        }
        Hand::Mouse => page.click(".rail a[href$=\"/settings\"]"),
    }
    page.wait_for_path(&format!("/project/{PROJECT}/settings"));
    hand.press(page, ".settled-tabs a[href$=\"/settings/keys\"]");
    page.wait_for_path(&format!("/project/{PROJECT}/settings/keys"));
}

/// Makes a key. Returns its public half, once the secret one was shown and cannot be shown again.
#[track_caller]
fn make_key(hand: Hand, page: &Page, demo: &Served, note: &str) -> String {
    hand.choose(page, "[name=role]", "viewer");
    hand.write(page, "[name=note]", note);
    hand.press(page, ".settled-body form .primary");
    page.wait_for(".shown-once");
    let shown = page.text(".shown-once");
    let (_, public) = shown.split_once("LANGFUSE_PUBLIC_KEY=").unwrap();
    let (_, secret) = shown.split_once("LANGFUSE_SECRET_KEY=").unwrap();
    let [public, secret] = [public, secret].map(|text| text.split_whitespace().next().unwrap());
    page.open(&demo.url(&page.path()));
    let is_told = format!("document.documentElement.outerHTML.includes('{secret}')");
    assert_eq!(page.js(&is_told), false, "a secret is shown once");
    public.to_owned()
}

#[test]
fn a_key_is_made_and_revoked_and_both_are_in_the_log() {
    with_both("/project/{project}", |hand, page, demo| {
        go_to_keys(hand, page);
        let note = format!("made by {}", hand.word());
        let public = make_key(hand, page, demo, &note);
        let id = page.js(&format!("{}.dataset.id", row_with(&public)));
        hand.press(page, &format!("tr[data-id={id}] form button"));
        hand.press(page, "[data-question] .danger");
        page.wait_until("location.search.includes('done=revoked')");
        assert_eq!(page.js(&format!("Boolean({})", row_with(&public))), false, "it is gone");
        hand.press(page, ".settled-tabs a[href$=\"/settings/audit\"]");
        page.wait_for("form.filters");
        hand.choose(page, "[name=what]", "API key");
        hand.press(page, "form.filters button");
        page.wait_until("location.search.includes('what=API')");
        let of_key = "[...document.querySelectorAll('tbody tr')].map((row) => row.innerText)";
        let output = page.js(&format!("{of_key}.filter((row) => row.includes('{public}'))"));
        let output = output.as_array().unwrap();
        assert_eq!(output.len(), 2, "{output:?}");
        let says = |nth: usize, verb: &str| output[nth].as_str().unwrap().contains(verb);
        assert!(says(0, "revoked") && says(1, "made"), "newest first: {output:?}");
    });
}
