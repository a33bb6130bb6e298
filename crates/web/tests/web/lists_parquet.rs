//! Lists as Parquet. What is in them DuckDB checks, in `tests/sdk/parquet_export.py`.

use ratchet_testkit::build::{batch, generation, project, text, trace};

use crate::browser::Site;

const EXPORT: &str = "/project/shop/list/traces/export?format=parquet";

#[tokio::test]
async fn a_file_is_whole_however_many_rows_there_are() {
    let site = Site::open().await;
    let check = async || {
        let file = site.get(EXPORT).await;
        assert_eq!(file.header("content-type"), "application/vnd.apache.parquet");
        assert!(file.header("content-disposition").ends_with(".parquet\""));
        assert!(file.bytes.starts_with(b"PAR1") && file.bytes.ends_with(b"PAR1"));
        file.bytes.len()
    };
    let empty = check().await;
    let mut response = batch(&project("shop"));
    for n in 0..60_i64 {
        let (id, step) = (format!("t{n}"), format!("g{n}"));
        response =
            response.with(trace(&id).named("=1+1").tagged("a").beginning(n).rooted_in(&step));
        response =
            response.with(generation(&step).of(&id).lasting(n, n + 1).input(text("☂\0\n\"")));
    }
    site.record(response).await;
    assert!(check().await > empty);
}
