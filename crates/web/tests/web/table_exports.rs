//! Tables other than lists as files.

use ratchet_testkit::build::{batch, project, score, trace};

use crate::browser::Site;

#[tokio::test]
async fn scores_and_users_are_files_too() {
    let site = Site::open().await;
    let told = batch(&project("shop"))
        .with(trace("one").for_user("=ann").beginning(2_000))
        .with(score("a").on("quality").of_trace("one").number(0.5))
        .with(score("b").on("=tone").of_session("s").number(1.0));
    site.record(told).await;
    let all = site.get("/project/shop/list/scores/export?format=csv").await.text;
    assert_eq!(all.lines().count(), 3, "{all}");
    assert!(all.starts_with("id,time,name,") && all.contains(",'=tone,"), "{all}");
    let named = site.get("/project/shop/list/scores/export?format=jsonl&name=quality").await.text;
    let row: serde_json::Value = serde_json::from_str(named.trim_end()).unwrap();
    assert_eq!(
        (&row["name"], &row["number"], &row["trace"]),
        (&"quality".into(), &0.5.into(), &"one".into())
    );
    let users = site.get("/project/shop/list/users/export?format=csv").await.text;
    assert!(users.contains("\r\n'=ann,1,0,"), "{users}");
    site.get("/project/shop/list/scores/export?format=parquet").await.check(400, "csv or jsonl");
}
