//! A trace as a file, its corrected output, and its deletion.

use ratchet_core::payload::Payload;
use ratchet_testkit::build::{batch, generation, json as parsed, project, score, text, trace};
use serde_json::{Value, json};

use crate::browser::Site;

const TRACE: &str = "/project/shop/traces/t";

async fn shop() -> Site {
    let site = Site::open().await;
    let recorded = batch(&project("shop"))
        .with(trace("t").named("refund").input(text("Where is it?")).output(text("No idea")))
        .with(generation("a").of("t").lasting(0, 10).output(text("first \"words\"")))
        .with(generation("b").of("t").lasting(20, 30).output(text("second")))
        .with(
            generation("c")
                .of("t")
                .lasting(40, 50)
                .output(Payload::Json(parsed(r#"[{"role":"assistant","content":"Soon"}]"#))),
        )
        .with(score("q").on("quality").of_trace("t").number(0.5));
    site.record(recorded).await;
    site
}

#[tokio::test]
async fn a_trace_is_downloaded_as_one_json_document() {
    let site = shop().await;
    site.get(TRACE).await.check(200, "Download as JSON");
    let file = site.get(&format!("{TRACE}/download")).await;
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"trace-t.json\"");
    let file: Value = serde_json::from_str(&file.text).unwrap();
    assert_eq!(file["trace"]["input"], "Where is it?");
    assert_eq!(file["trace"]["scores"]["quality"], json!(0.5), "{file}");
    let outputs: Vec<&Value> =
        file["observations"].as_array().unwrap().iter().map(|one| &one["output"]).collect();
    assert_eq!(outputs[..2], ["first \"words\"", "second"]);
    site.get("/project/shop/traces/none/download").await.check(404, "trace not found");
}

#[tokio::test]
async fn an_output_is_corrected_and_the_correction_changed_and_removed() {
    let site = shop().await;
    let form = format!("{TRACE}/correction");
    site.get(&form).await.check(200, "No idea</textarea>");
    site.post(&form, &form, "text=On+its+%3Cb%3Eway")
        .await
        .leads_to(&format!("{TRACE}?done=corrected"));
    let page = site.get(TRACE).await;
    page.check(200, "Corrected output").check(200, "&lt;b&gt;way");
    site.get(&form).await.check(200, "On its &lt;b&gt;way</textarea>");
    site.post(&form, &form, "text=Tomorrow").await;
    let page = site.get(TRACE).await;
    page.check(200, "Tomorrow");
    assert!(!page.text.contains("&lt;b&gt;way"), "one correction: {}", page.text);
    site.post(&form, &form, "text=+").await.check(422, "required");
    let removed = site.post(&form, &form, "text=x&action=remove").await;
    removed.leads_to(&format!("{TRACE}?done=uncorrected"));
    let page = site.get(TRACE).await;
    assert!(!page.text.contains("Corrected output"), "{}", page.text);
    // The words of a message, without the JSON around them.
    site.get(&format!("{form}?observation=c")).await.check(200, "Soon</textarea>");
    let step = format!("{TRACE}/correction?observation=b");
    site.get(&step).await.check(200, "second</textarea>");
    site.post(&step, &form, "observation=b&text=third").await;
    let page = site.get(&format!("{TRACE}?observation=b")).await;
    page.check(200, "Corrected output").check(200, "third");
}

#[tokio::test]
async fn a_trace_is_deleted_after_a_question() {
    let site = shop().await;
    let question = format!("{TRACE}/delete");
    let asked = site.get(&question).await;
    asked.check(200, "Delete trace refund?").check(200, "3 observations and 1 score");
    let gone = site.post(&question, &question, "sure=yes").await;
    gone.leads_to("/project/shop/traces?done=deleted-1");
    site.get("/project/shop/traces?done=deleted-1").await.check(200, "1 trace deleted");
    site.get(TRACE).await.check(404, "trace not found");
    site.get(&question).await.check(404, "trace not found");
}
