//! A page with every component that pages are made of.

/// The parts of a trace's page.
mod steps;

use axum::Router;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::quality::calibration::panel::DriftAlert;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::stats::{bounded, distribution};
use ratchet_core::time::Timestamp;

use crate::components::badge::{self, Decider};
use crate::components::bars::{self, HorizontalBars, Spread};
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::field::{Entered, FormField};
use crate::components::filter_bar::{self, FilterField};
use crate::components::icon::{Icon, icon};
use crate::components::lanes::{self, Run};
use crate::components::matrix::{self, Matrix};
use crate::components::plot::PlotHeight;
use crate::components::scatter::{self, Scatter};
use crate::components::stat::{self, Stat, Value};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{alarm, copy, dialog, diff, empty, field, figure, json, toast, whisker};
use crate::frame;
use crate::request_context::Link;
use crate::viewer_time::ViewerTime;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/ui/gallery", get(show))
}

async fn show() -> Markup {
    let part = |title: &str, body: Markup| html! { section { h2 { (title) } (body) } };
    let body = html! {
        p.muted { "Colour has a meaning: blue was decided by code, orange by a model, green by a "
            "person. Everything below is the component itself." }
        div.gallery {
            (part("Colours", colours()))
            (part("Drawings", icons()))
            (part("Badges", badges()))
            (part("Buttons", buttons()))
            (part("Numbers", stats()))
            (part("Charts", charts()))
            (part("Distributions", distributions()))
            (part("Two scores", comparisons()))
            (part("Agent timeline", at_work()))
            (part("Fields", fields()))
            (part("Mean differences", moved()))
            (part("Judge drift", drifted()))
            (part("Filter", filter()))
            (part("Table", rows()))
            (part("JSON", json::json(SAMPLE)))
            (part("Difference", diff::diff("Answer briefly.\nCite the policy.", "Answer kindly.\nCite the policy.")))
            @for (title, body) in steps::parts() { (part(title, body)) }
            (part("No scores yet", empty::empty("Scores will appear here.", &copy::snippet("ratchet score"))))
            (part("Dialog and toast", html! {
                (dialog::opener("sample", "Open a dialog"))
                (dialog::dialog("sample", "Delete 3 traces?", &html! {
                    p { "Their scores are deleted too. This cannot be undone." }
                    form method="dialog" { button.button.danger { "Delete" } }
                }))
                (toast::toast("This is a toast"))
                (toast::container())
            }))
        }
    };
    frame::gallery(&body)
}

const SAMPLE: &str = r#"{"role": "assistant", "content": [{"type": "text", "text": "Refunded."}], "usage": {"input": 812, "output": 41}, "done": true}"#;

fn colours() -> Markup {
    html! {
        div.swatches {
            @for by in [Decider::Code, Decider::Model, Decider::Human] {
                (badge::decided(by, by.class()))
            }
            @for hue in 0..6 { span class={ "hue-" (hue) } { "series " (hue + 1) } }
        }
    }
}

fn icons() -> Markup {
    html! {
        div.icons { @for (one, _) in Icon::DRAWN { span { (icon(one)) " " (format!("{one:?}")) } } }
    }
}

fn badges() -> Markup {
    html! {
        p.badges {
            @for level in Level::ALL { (badge::level(level)) }
            (badge::tag("refunds"))
            (badge::tag("a tag that is far too long to be shown whole"))
        }
        p { @for kind in ObservationKind::ALL { (badge::glyph(kind)) " " (badge::kind_name(kind)) " " } }
    }
}

fn buttons() -> Markup {
    html! {
        button.button.primary type="button" { "Primary" } " "
        button.button type="button" { "Plain" } " "
        button.button.danger type="button" { "Delete" } " "
        button.quiet type="button" { "Quiet" } " "
        (copy::id("5f1c9a7be0d24c8f"))
    }
}

fn stats() -> Markup {
    let course = [3.0, 4.0, 2.0, 6.0, 7.0, 5.0, 9.0].map(Some).to_vec();
    let known = |text: &str, interval: Option<&str>| Value::Known {
        text: text.to_owned(),
        interval: interval.map(str::to_owned),
        provenance: "hourly rollups, n = 1,204".to_owned(),
    };
    stat::row(&[
        Stat {
            label: "Traces".into(),
            value: known("1,204", None),
            change: Some("+12% vs. previous 7 days".into()),
            course,
            link: None,
        },
        Stat { label: "Quality".into(), value: known("0.84", Some("± 0.05")), ..Stat::default() },
        Stat {
            label: "Agreement".into(),
            value: Value::CannotTell("12 more reviewed traces are needed".into()),
            ..Stat::default()
        },
    ])
}

fn charts() -> Markup {
    let steps: Vec<String> = (9..16).map(|day| format!("{day} Nov")).collect();
    let line = |name: &str, hue, values: [f64; 7]| Series {
        name: name.to_owned(),
        hue,
        values: values.map(Some).to_vec(),
    };
    let series = vec![
        line("beta", 0, [1.2, 1.4, 1.1, 1.9, 2.2, 1.8, 1.6]),
        line("prod", 1, [3.1, 2.9, 3.3, 4.2, 3.9, 4.4, 4.1]),
    ];
    let read: fn(f64) -> String = |value| format!("{value:.1} s");
    let title = "Latency".to_owned();
    let lines = OverTime { title, steps, series, form: Form::Lines, read, ..OverTime::default() };
    let bars = OverTime { form: Form::Bars, title: "Cost".into(), ..lines.clone() };
    let areas = OverTime { form: Form::Areas, title: "Tokens".into(), ..lines.clone() };
    let compared = OverTime {
        title: "Observations".into(),
        note: "n = 21 observations, dashed: previous period".into(),
        series: vec![line("all", 0, [2.0, 4.0, 3.0, 5.0, 1.0, 2.0, 4.0])],
        before: [3.0, 3.0, 2.0, 4.0, 2.0, 1.0, 3.0].map(Some).to_vec(),
        read: figure::number,
        ..lines.clone()
    };
    html! {
        div.charts {
            @for drawn in [&lines, &bars, &areas, &compared] { (chart::over_time(drawn)) }
        }
    }
}

fn distributions() -> Markup {
    let marks = [0.2, 0.41, 0.44, 0.48, 0.52, 0.55, 0.58, 0.61, 0.62, 0.66, 0.71, 0.74, 0.83, 0.95];
    let bins = distribution::bins(&marks, 10);
    let labels = [("solved", 41), ("handed over", 12), ("abandoned", 3)];
    let mini: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
    let costs = [("claude-opus-5".to_owned(), 14.12), ("gpt-5.6-terra".to_owned(), 2.34)];
    html! {
        div.charts {
            (bars::histogram(&Spread { title: "quality", note: "n = 14 scores", bins: &bins, links: Vec::new(), colour: "model", read: figure::number, tall: PlotHeight::Usual }))
            (bars::labels("outcome", &labels, "human"))
            (bars::horizontal(&HorizontalBars {
                title: "Cost by model",
                note: "total cost by model, n = 53".to_owned(),
                values: &costs,
                links: Vec::new(),
                is_share: true,
                read: figure::dollars,
                exact: figure::exact_dollars,
            }))
        }
        p { (bars::mini(&mini, "model", "quality, from 0.2 to 1")) }
    }
}

fn comparisons() -> Markup {
    let points = [(0.2, 0.3), (0.4, 0.38), (0.5, 0.61), (0.61, 0.7), (0.8, 0.76), (0.9, 0.97)];
    let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    let pairs = [pair("yes", "yes"), pair("yes", "yes"), pair("no", "yes"), pair("no", "no")];
    let (x, y) = ("quality by human", "quality by model");
    html! {
        div.charts {
            (scatter::scatter(&Scatter { title: "Model vs. human", x, y, points: &points, levels: &[] }))
            (matrix::matrix(&Matrix { title: "Helpful", rows: "model", columns: "human", pairs: &pairs }))
        }
    }
}

fn at_work() -> Markup {
    let run = |agent: &str, start, end, failed| Run {
        agent: agent.to_owned(),
        name: agent.to_owned(),
        start: Timestamp::from_millis(start),
        end: Timestamp::from_millis(end),
        failed,
        link: Link::new("#"),
    };
    let runs = [
        run("concierge", 0, 9_000, false),
        run("travel-desk", 2_000, 6_000, false),
        run("concierge", 900_000, 904_000, false),
        run("travel-desk", 901_000, 903_000, true),
    ];
    lanes::lanes("Agent timeline", &runs)
}

fn filter() -> Markup {
    let here = Link::new("/ui/gallery");
    let field = FilterField {
        action: here.path(),
        kept: Markup::default(),
        suggestions: String::new(),
        typed: "level:error cost>ten",
        example: "level:error cost>0.10",
        problems: vec![("cost>ten", "cost needs a number, such as cost>0.10")],
    };
    let terms = ["level:error", "name:refund*"].map(|term| (term.to_owned(), here.clone()));
    html! { (filter_bar::field(&field)) (filter_bar::chips(&terms, &here)) }
}

fn fields() -> Markup {
    let of = |name, label, hint| FormField { name, label, hint };
    let entered = Entered::preset(&[("name", "refunds"), ("days", "0"), ("role", "member")]);
    let entered = entered.and_wrong("days", "a whole number of days, from 1");
    html! {
        form.settings method="dialog" {
            (field::line(of("name", "Name", "Display name."), &entered))
            (field::number(of("days", "Days", "Retention in days."), &entered))
            (field::secret(of("key", "Secret", "Not shown again."), &entered))
            (field::choice(of("role", "Role", ""), &[("viewer", "viewer"), ("member", "member")], &entered))
            (field::area(of("about", "Description", "Multiple lines allowed."), 2, &entered))
            (field::tick(of("sure", "Confirm", ""), &entered))
        }
    }
}

fn moved() -> Markup {
    let samples = [("helpful", vec![0.2, 0.1, 0.4, 0.3]), ("brief", vec![-0.3, 0.2, 0.1])];
    html! {
        @for (name, values) in samples {
            @if let Ok(difference) = bounded::mean_of_differences(&values) { (whisker::whisker(name, &difference)) }
        }
    }
}

fn drifted() -> Markup {
    let alert = |dimension: &str, change: f64| DriftAlert {
        judge: "anthropic:claude-sonnet-5".to_owned(),
        rubric: "session-quality".to_owned(),
        dimension: dimension.to_owned(),
        since: "2026-10-04".to_owned(),
        week: "2026-11-08".to_owned(),
        change,
        moved: Some(12),
        n: 12,
        missing: Some(0),
        p: Some(0.0005),
        detectable: Some(0.14),
    };
    alarm::drift(&[alert("overall_quality", -0.12), alert("tool_mastery", 0.2)])
}

fn rows() -> Markup {
    let at = Timestamp::from_millis(1_794_738_797_000);
    let row = |id: &str, name: &str, nanos, failed| Row {
        id: id.to_owned(),
        link: None,
        cells: vec![
            html! { (name) },
            figure::when(at, &ViewerTime::utc(at)),
            html! { (figure::duration(nanos)) },
            html! { "Where is my refund?" },
        ],
        failed,
    };
    let columns = vec![
        Column::text("Name"),
        Column::text("Time"),
        Column::number("Latency"),
        Column::wide("Input"),
    ];
    let rows = vec![
        row("a", "support-bot", 1_240_000_000, false),
        row("b", "support-bot", 12_000_000, true),
    ];
    table::table(&Table { caption: "Sample traces".into(), columns, rows, select_for: None })
}
