use ratchet_testkit::process::PROJECT;

use super::hand::{Hand, with_both};

#[test]
fn a_key_is_made_shown_once_and_revoked() {
    with_both("/project/{project}", |hand, page, demo| {
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
        let note = format!("made by {}", hand.word());
        hand.choose(page, "[name=role]", "viewer");
        hand.write(page, "[name=note]", &note);
        hand.press(page, "main form .primary");
        page.wait_until("document.body.innerText.includes('sk-lf-')");
        page.open(&demo.url(&page.path()));
        assert_eq!(
            page.js("document.body.innerText.includes('sk-lf-')"),
            false,
            "it is shown once"
        );
        let rows = "[...document.querySelectorAll('tbody tr')]";
        let row = format!("{rows}.find((row) => row.innerText.includes('{note}'))");
        let id = page.js(&format!("{row}.dataset.id"));
        hand.press(page, &format!("tr[data-id={id}] form button"));
        hand.press(page, "[data-question] .danger");
        page.wait_until("location.search.includes('done=revoked')");
        assert_eq!(page.js(&format!("Boolean({row})")), false, "it is gone");
    });
}

#[test]
fn what_was_changed_is_found_in_the_log() {
    with_both("/project/{project}/settings/audit", |hand, page, _| {
        hand.choose(page, "[name=what]", "prompt");
        hand.press(page, "form.filters button");
        page.wait_until("location.search.includes('what=prompt')");
        page.wait_for("table[data-rows] tbody tr");
    });
}
