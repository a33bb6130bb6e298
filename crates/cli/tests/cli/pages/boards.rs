use super::hand::with_both;

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
        hand.press(page, ".chart-form .primary");
        page.wait_for(".tiles figure");
        hand.press(page, ".actions a[href*=\"edit=1\"]");
        hand.press(page, ".handles button[value=off]");
        page.wait_until("!document.querySelector('.tiles figure')");
    });
}
