//! The signal matrix, and the evaluator whose scores it is made of.

use ratchet_core::calendar::{Week, Zone};
use ratchet_testkit::build::{START, batch, project, score, text, trace};

use crate::browser::Site;

#[tokio::test]
async fn a_cell_of_the_matrix_leads_to_its_traces() {
    let site = Site::open().await;
    for (name, quality) in [("good", 0.9), ("bad", 0.1)] {
        let asked =
            trace(name).beginning(1_000).for_user("kim").input(text(&format!("ask {name}")));
        let verdict = score(&format!("v-{name}")).of_trace(name).on("quality").number(quality);
        site.record(batch(&project("shop")).with(asked).with(verdict)).await;
    }
    let week = Week::of(START, &Zone::utc());
    let matrix = site.get(&format!("/project/shop/matrix?week={week}")).await.text;
    let link = format!("/project/shop/matrix/category/W5?week={week}");
    assert!(matrix.contains(&link), "{matrix}");
    let cell = site.get(&link).await.text;
    assert!(cell.contains("ask bad") && !cell.contains("ask good"), "{cell}");
    let missing = site.get("/project/shop/matrix/category/W9").await;
    assert_eq!(missing.status, 404, "{}", missing.text);
}

#[tokio::test]
async fn the_shipped_evaluator_is_added_on_its_page() {
    let site = Site::open().await;
    let page = "/project/shop/evaluators";
    assert!(site.get(page).await.text.contains("Add online-quality-check"));
    let refused = site.post(page, page, "judge=oracle").await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("value=\"oracle\""), "the input is kept: {}", refused.text);
    assert_eq!(site.post(page, page, "judge=offline").await.status, 303);
    let shown = site.get(page).await.text;
    assert!(shown.contains("1 of 1 active") && !shown.contains("Add online"), "{shown}");
}
