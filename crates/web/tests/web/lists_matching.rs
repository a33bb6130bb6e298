//! Actions on all rows that match a filter, not only on those of the page.

use ratchet_testkit::build::{batch, project, trace};

use crate::browser::Site;

const LIST: &str = "/project/shop/traces?range=all";
const ACT: &str = "/project/shop/list/traces/do";
/// More than a page.
const MANY: i64 = 60;

async fn shop() -> Site {
    let site = Site::open().await;
    let mut recorded = batch(&project("shop")).with(trace("other").named("delivery"));
    for number in 0..MANY {
        recorded = recorded.with(trace(&format!("t{number}")).named("refund").beginning(number));
    }
    site.record(recorded).await;
    site
}

#[tokio::test]
async fn all_that_match_are_tagged() {
    let site = shop().await;
    site.get(LIST).await.check(200, "all that match the filter");
    let back = "back=range%3Dall%26q%3Dname%253Arefund";
    let sent = format!("{back}&matching=yes&id=t1&action=tag&tag=vip");
    let done = site.post(LIST, ACT, &sent).await;
    assert!(done.header("location").ends_with("done=tagged-60"), "{done:?}");
    site.get("/project/shop/traces?range=all&q=tag:vip").await.check(200, "60 of 61 traces match");
    let other = site.get("/project/shop/traces/other").await;
    assert!(!other.text.contains("vip"), "{}", other.text);
}

#[tokio::test]
async fn all_that_match_are_deleted_after_a_question_about_their_number() {
    let site = shop().await;
    let back = "back=range%3Dall%26q%3Dname%253Arefund";
    let asked = site.post(LIST, ACT, &format!("{back}&matching=yes&action=delete")).await;
    asked.check(200, "Delete 60 traces?").check(200, "name=\"asked\" value=\"60\"");
    let few = format!("{back}&matching=yes&action=delete&sure=yes&asked=59");
    site.post(LIST, ACT, &few).await.check(200, "Delete 60 traces?");
    let sure = format!("{back}&matching=yes&action=delete&sure=yes&asked=60");
    let done = site.post(LIST, ACT, &sure).await;
    assert!(done.header("location").ends_with("done=deleted-60"), "{done:?}");
    let left = site.get(LIST).await;
    left.check(200, "delivery");
    assert!(!left.text.contains("data-id=\"t1\""), "{}", left.text);
}

#[tokio::test]
async fn a_filter_that_is_not_understood_changes_nothing() {
    let site = shop().await;
    let back = "back=range%3Dall%26q%3Dcost%253Emuch";
    let sure = format!("{back}&matching=yes&action=delete&sure=yes&asked=1000");
    site.post(LIST, ACT, &sure).await.check(400, "the filter is not understood");
    site.get(LIST).await.check(200, "refund");
}
