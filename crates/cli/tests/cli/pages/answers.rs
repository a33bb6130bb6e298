use ratchet_browser::Page;
use serde_json::{Value, json};

use super::list::fill;
use super::stage::Served;

/// The page of an error, which is answered with its status.
pub(super) const REFUSED: &str = "error-with-input";

/// Pages that no address alone opens: a form leads to them.
pub(super) fn visit(served: &Served, page: &Page, show: &mut impl FnMut(&str)) {
    let at = |address: &str| fill(address, &served.places);
    page.open(&served.url(&at("/project/{project}/datasets/{dataset}/upload")));
    send(
        page,
        &at("/project/{project}/datasets/{dataset}/upload"),
        &[],
        Some("question,answer\nWhere?,Here"),
    );
    page.wait_for(".mapping");
    show("upload-preview");
    page.open(&served.url(&at("/project/{project}/traces")));
    let trace = served.places["trace"].as_str();
    send(
        page,
        &at("/project/{project}/list/traces/do"),
        &[("action", "delete"), ("id", trace)],
        None,
    );
    page.wait_for("[data-question]");
    show("delete-question");
    page.open(&served.url(&at("/project/{project}/prompts/{prompt}")));
    let label = [("version", "1"), ("label", "Not a label")];
    send(page, &at("/project/{project}/prompts/{prompt}/label"), &label, None);
    page.wait_for(".kept-input");
    show(REFUSED);
}

/// Sends a form with the token of the page, as a browser without scripts does.
fn send(page: &Page, action: &str, fields: &[(&str, &str)], file: Option<&str>) {
    let form = json!({ "action": action, "fields": fields, "file": file.map_or(Value::Null, Value::from) });
    let written = format!(
        "(({{ action, fields, file }}) => {{
            const token = document.querySelector('[name=form_token]').value;
            const form = document.createElement('form');
            form.method = 'post';
            form.action = action;
            for (const [name, value] of [['form_token', token], ...fields]) {{
                const input = document.createElement('input');
                [input.type, input.name, input.value] = ['hidden', name, value];
                form.append(input);
            }}
            if (file !== null) {{
                form.enctype = 'multipart/form-data';
                const [input, chosen] = [document.createElement('input'), new DataTransfer()];
                [input.type, input.name] = ['file', 'file'];
                chosen.items.add(new File([file], 'cases.csv', {{ type: 'text/csv' }}));
                input.files = chosen.files;
                form.append(input);
            }}
            document.body.append(form);
            form.submit();
        }})({form})"
    );
    page.js(&written);
}
