//! What the driver sees, does and complains about, on pages small enough to be an address.

use ratchet_browser::{Browser, Page, Size, Theme, Trouble};

/// A page with this inside its body.
fn open(page: &Page, body: &str) {
    let source = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>A page</title>\
         <meta name=viewport content='width=device-width'><body><main>{body}</main>"
    );
    let encoded: String = source.bytes().map(|byte| format!("%{byte:02x}")).collect();
    page.open(&format!("data:text/html,{encoded}"));
}

#[track_caller]
fn check_problem(body: &str, expected: Trouble, says: &str) {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, body);
    let problems = page.problems();
    let is_told = |result: &&ratchet_browser::Problem| {
        result.trouble == expected && result.text.contains(says)
    };
    assert!(
        problems.iter().any(|problem| is_told(&problem)),
        "{expected:?} {says} is not in {problems:?}"
    );
}

#[test]
fn a_good_page_has_no_problems() {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, "<h1>Fine</h1><p>All is well.</p>");
    assert_eq!(page.problems(), []);
    assert_eq!(page.accessibility(), []);
    assert!(page.overflow(Size::Laptop).is_empty());
    assert_eq!(page.text("h1"), "Fine");
}

#[test]
fn what_goes_wrong_is_told() {
    check_problem("<script>console.error('bad', 'luck')</script>", Trouble::Console, "bad luck");
    check_problem("<script>console.warn('mind')</script>", Trouble::Console, "mind");
    check_problem("<script>throw new Error('broken')</script>", Trouble::Script, "broken");
    check_problem("<script>Promise.reject(new Error('later'))</script>", Trouble::Script, "later");
    check_problem("<script>alert('hello')</script>", Trouble::Dialog, "hello");
    check_problem("<script>__ran('canary')</script>", Trouble::Ran, "canary");
    check_problem(
        "<img alt='' src='http://elsewhere.example/a.png'>",
        Trouble::Abroad,
        "elsewhere",
    );
    check_problem("<img alt='' src='http://127.0.0.1:1/a.png'>", Trouble::Request, "127.0.0.1:1");
    let policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">";
    check_problem(&format!("{policy}<script>1</script>"), Trouble::Policy, "script-src");
    let policy = "<meta http-equiv=Content-Security-Policy content=\"style-src 'none'\">";
    check_problem(&format!("{policy}<p style='color: red'>a</p>"), Trouble::Policy, "style-src");
}

#[test]
fn another_address_is_another_beginning() {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, "<script>console.error('bad')</script>");
    assert_eq!(page.problems().len(), 1);
    open(&page, "<p>better</p>");
    assert_eq!(page.problems(), []);
}

#[test]
fn what_some_people_cannot_use_is_told() {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, "<h1>A form</h1><input type=text><p style='color: #ccc'>pale</p>");
    let rules: Vec<String> = page.accessibility().into_iter().map(|found| found.rule).collect();
    assert_eq!(rules, ["color-contrast", "label"]);
    let colours: Vec<String> = page.contrast().into_iter().map(|found| found.rule).collect();
    assert_eq!(colours, ["color-contrast"]);
}

#[test]
fn what_sticks_out_is_told() {
    let browser = Browser::shared();
    let page = browser.page();
    page.size(Size::Phone);
    open(&page, "<style>* { margin: 0 }</style><div id=long style='width: 500px'>long</div>");
    assert_eq!(
        page.overflow(Size::Phone),
        ["the page is 500 px wide", "<div#long> ends at 500 px",]
    );
    open(&page, "<div style='overflow-x: auto'><div style='width: 500px'>long</div></div>");
    assert!(page.overflow(Size::Phone).is_empty());
}

#[test]
fn what_a_policy_would_stop_is_told() {
    let browser = Browser::shared();
    let page = browser.page();
    let source = "<p style='color: red' onclick=a()>a</p><a href=' JavaScript:a()'>b</a>\
                  <script>1</script><script type=application/json>{}</script><style></style>\
                  &lt;p style='a'&gt; <script src=a.js></script><a href='/a'>c</a>";
    let mut found = page.inline(source);
    found.sort();
    assert_eq!(
        found,
        [
            "<a> href= JavaScript:a()",
            "<p> onclick=a()",
            "<p> style=color: red",
            "<script> with content of its own",
            "<style> with content of its own",
        ]
    );
}

#[test]
fn mouse_and_keys_do_what_a_person_does() {
    let browser = Browser::shared();
    let page = browser.page();
    open(
        &page,
        "<label>Name <input id=name></label><button id=go>Say it</button><p id=said>-</p>
        <script>
            go.onclick = (event) => { said.textContent = event.isTrusted + ' ' + name_.value; };
            const name_ = document.getElementById('name');
            onkeydown = (event) => {
                if (event.ctrlKey && event.key === 'k') said.textContent = 'found';
            };
        </script>",
    );
    page.click("#name");
    page.type_text("Ann Lee");
    page.click("Say it");
    assert_eq!(page.text("#said"), "true Ann Lee");
    page.press("Control+k");
    assert_eq!(page.text("#said"), "found");
    page.press("Shift+Tab");
    page.press("End");
    page.press("Backspace");
    page.press("Tab");
    page.press("Enter");
    assert_eq!(page.text("#said"), "true Ann Le");
    assert_eq!(page.problems(), []);
}

#[test]
#[should_panic(expected = "lies under <div#lid>")]
fn what_is_covered_cannot_be_clicked() {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, "<button>Go</button><div id=lid style='position: fixed; inset: 0'>lid</div>");
    page.click("Go");
}

#[test]
fn themes_and_sizes_are_what_the_page_sees() {
    let browser = Browser::shared();
    let page = browser.page();
    page.theme(Theme::Dark);
    page.size(Size::Wide);
    open(&page, "<p>a</p>");
    let is_dark = page.js("matchMedia('(prefers-color-scheme: dark)').matches");
    assert_eq!((is_dark, page.js("innerWidth")), (true.into(), 2560.into()));
    page.theme(Theme::Light);
    page.size(Size::Phone);
    let is_dark = page.js("matchMedia('(prefers-color-scheme: dark)').matches");
    assert_eq!((is_dark, page.js("innerWidth")), (false.into(), 360.into()));
}

#[test]
fn pictures_are_as_large_as_the_page() {
    let browser = Browser::shared();
    let page = browser.page();
    open(&page, "<style>* { margin: 0 }</style><div style='height: 3000px'>tall</div>");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    page.screenshot(&path);
    let bytes = std::fs::read(path).unwrap();
    // A PNG says its width and height in its first chunk.
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((&bytes[1..4], number(16), number(20)), (&b"PNG"[..], 1280, 3000));
}
