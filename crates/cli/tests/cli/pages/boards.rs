use super::hand::{Hand, with_both};

#[test]
fn a_dashboard_is_made_with_a_chart_of_ones_own() {
    with_both("/project/{project}/dashboards/all", |hand, page, _| {
        let name = format!("weekly, by {}", hand.word());
        hand.write(page, ".new-dashboard [name=name]", &name);
        hand.press(page, ".new-dashboard .primary");
        page.wait_for(".starts a");
        assert_eq!(page.text("h1"), name);
        hand.press(page, ".starts a");
        page.wait_for(".chart-form");
        hand.write(page, ".chart-form [name=description]", "what each model costs");
        // The preview follows, and neither the focus nor what was written is lost.
        hand.choose(page, ".chart-form [name=chart]", "standing");
        page.wait_until("location.search.includes('chart=standing')");
        page.wait_for("[data-drawn] figure");
        let written = page.js("document.querySelector('[name=description]').value");
        assert_eq!(written, "what each model costs");
        if hand == Hand::Keys {
            assert_eq!(page.js("document.activeElement.name"), "chart");
        }
        hand.press(page, ".chart-form .primary");
        page.wait_for(".tiles figure");
        hand.press(page, ".actions a[href*=\"edit=1\"]");
        hand.press(page, ".handles button[value=off]");
        page.wait_until("!document.querySelector('.tiles figure')");
    });
}
