//! What can be done with a trace on its page.

use ratchet_core::catalog::llm::LlmAdapter;
use ratchet_core::payload::Payload;
use ratchet_store::query::PageNumber;
use ratchet_testkit::build::{batch, generation, json, project, text, tool, trace};

use crate::browser::Site;
use crate::playground::connect;

const FIRST_PAGE: PageNumber = PageNumber { page: 1, limit: 10 };

/// Three traces, a minute apart; the one in the middle has a model call.
async fn shop() -> Site {
    let site = Site::open().await;
    let minute = 60_000;
    let call = generation("g")
        .of("middle")
        .calling("gpt-5")
        .lasting(minute, minute + 500)
        .input(Payload::Json(json(r#"[{"role":"user","content":"Where is my refund?"}]"#)))
        .output(text("No idea"));
    let recorded = batch(&project("shop"))
        .with(trace("first").named("refund").beginning(0))
        .with(trace("middle").named("refund").beginning(minute))
        .with(trace("last").named("delivery").beginning(2 * minute))
        .with(call);
    site.record(recorded).await;
    site
}

#[tokio::test]
async fn a_model_call_is_added_to_a_dataset_with_the_corrected_answer() {
    let site = shop().await;
    let form = "/project/shop/traces/middle/dataset?observation=g";
    let shown = site.get(form).await.text;
    assert!(shown.contains("Where is my refund?") && !shown.contains("No idea"), "{shown}");
    let recorded = site.get(&format!("{form}&expected=recorded")).await.text;
    assert!(recorded.contains("No idea"), "{recorded}");

    let address = "/project/shop/traces/middle/dataset";
    let sent = "observation=g&expected_output=Paid+%3Cb%3Eback";
    let refused = site.post(form, address, sent).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("Paid &lt;b&gt;back"), "the input stays: {}", refused.text);

    let sent = "observation=g&new_dataset=refunds&expected_output=Paid+back";
    let added = site.post(form, address, sent).await;
    let back = "/project/shop/traces/middle?observation=g&done=collected";
    assert_eq!((added.status, added.header("location")), (303, back));
    let items = site.get("/project/shop/datasets/refunds/items").await.text;
    assert!(items.contains("Paid back") && items.contains("Where is my refund?"), "{items}");

    let again = site.post(form, address, sent).await;
    assert_eq!(again.status, 422);
    assert!(again.text.contains("already exists"), "{}", again.text);
}

#[tokio::test]
async fn a_trace_is_added_to_a_queue_that_was_created_on_a_page() {
    let site = shop().await;
    let queues = "/project/shop/queues";
    assert_eq!(site.post(queues, queues, "name=+&description=x").await.status, 422);
    let made = site.post(queues, queues, "name=Refunds&description=Weekly").await;
    assert_eq!(made.status, 303);
    let queue = made.header("location").to_owned();
    let id = queue.rsplit('/').next().unwrap();
    let page = "/project/shop/traces/middle";
    assert!(site.get(page).await.text.contains("Refunds"));
    let added = site.post(page, &format!("{page}/queue"), &format!("queue={id}")).await;
    assert_eq!(added.status, 303);
    let listed = site.get(&queue).await.text;
    assert!(listed.contains("refund") && listed.contains("1 item"), "{listed}");
}

#[tokio::test]
async fn score_configs_are_created_and_archived_on_a_page() {
    let site = shop().await;
    let page = "/project/shop/settings/score-configs";
    let sent = "action=create&name=tone&dataType=CATEGORICAL&categories=kind+%3D+one";
    let refused = site.post(page, page, sent).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("a number must follow ="), "{}", refused.text);
    assert!(refused.text.contains("kind = one"), "the input stays: {}", refused.text);
    let sent = "action=create&name=tone&dataType=CATEGORICAL&categories=kind+%3D+1%0D%0Arude+%3D+0";
    assert_eq!(site.post(page, page, sent).await.status, 303);
    assert!(site.get(page).await.text.contains("kind, rude"));
    assert!(site.get("/project/shop/traces/middle").await.text.contains("value=\"rude\""));
    let configs = site.data.catalog().score_configs(project("shop"), FIRST_PAGE).await.unwrap();
    let id = &configs.rows[0].config.id;
    let archived = site.post(page, page, &format!("action=archive&id={id}")).await;
    assert_eq!(archived.status, 303);
    assert!(!site.get("/project/shop/traces/middle").await.text.contains("value=\"rude\""));
}

#[tokio::test]
async fn a_recorded_model_call_fills_in_the_playground() {
    let site = shop().await;
    connect(&site, "ours", (LlmAdapter::OpenAi, "http://127.0.0.1:9/v1".to_owned())).await;
    for address in ["?trace=middle", "?trace=middle&observation=g"] {
        let page = site.get(&format!("/project/shop/playground{address}")).await;
        assert_eq!(page.status, 200);
        for shown in ["Where is my refund?", "value=\"gpt-5\"", "Messages (JSON)"] {
            assert!(page.text.contains(shown), "{shown} in {}", page.text);
        }
    }
    assert_eq!(site.get("/project/shop/playground?trace=first").await.status, 404);
}

#[tokio::test]
async fn a_trace_leads_to_its_neighbours_in_the_filtered_list() {
    let site = shop().await;
    let link = |trace: &str, query: &str| format!("href=\"/project/shop/traces/{trace}{query}\"");
    let page = site.get("/project/shop/traces/middle").await.text;
    assert!(page.contains(&link("last", "")) && page.contains(&link("first", "")), "{page}");
    let page = site.get("/project/shop/traces/middle?q=name:refund").await.text;
    let is_kept = page.contains(&link("first", "?q=name:refund"));
    assert!(is_kept && !page.contains(&link("last", "?q=name:refund")), "{page}");
    let list = site.get("/project/shop/traces?q=name:refund").await.text;
    assert!(list.contains(&link("middle", "?q=name:refund")), "{list}");
}

#[tokio::test]
async fn an_error_is_shown_inside_the_frame() {
    let site = shop().await;
    let missing = site.get("/project/shop/traces/none").await;
    assert_eq!(missing.status, 404);
    let has_frame = missing.text.contains("aria-label=\"Breadcrumbs\"");
    assert!(has_frame && missing.text.contains("trace not found"), "{}", missing.text);
    let elsewhere = site.get("/project/none/traces").await;
    assert_eq!(elsewhere.status, 404);
    assert!(!elsewhere.text.contains("aria-label=\"Breadcrumbs\""), "{}", elsewhere.text);
}

#[tokio::test]
async fn lines_of_the_tree_are_found_by_the_arguments_of_tools() {
    let site = shop().await;
    let call = tool("x")
        .of("middle")
        .named("Bash")
        .lasting(60_000, 60_100)
        .input(Payload::Json(json(r#"{"command":"go test\n ./billing","timeout":60}"#)));
    site.record(batch(&project("shop")).with(call)).await;
    let find = async |text: &str| {
        let address = format!("/project/shop/traces/middle/matching-rows?text={text}");
        site.get(&address).await.text
    };
    let line = find("Bash").await;
    assert!(line.parse::<u32>().is_ok(), "{line}");
    for text in ["BILLING", "go+test+.%2Fbilling", "timeout"] {
        assert_eq!(find(text).await, line, "{text}");
    }
    assert_eq!(find("gpt-5").await.split(',').count(), 1, "models as before");
    assert_eq!(find("nowhere").await, "");
}
