use proptest::prelude::*;
use serde_json::json;

use super::*;

fn skill(front: &str) -> String {
    format!("---\n{front}\n---\n\n# How\n\n---\nnot the head\n")
}

#[track_caller]
fn refused(front: &str, expected: &str) {
    let why = FrontMatter::read(&skill(front)).unwrap_err().to_string();
    assert!(why.contains(expected), "{front}: {why}");
}

#[test]
fn the_head_is_read_as_json() {
    let front = "name: pdf-forms\n\
                 description: >\n  Fills in forms.\n  Use it for PDFs.\n\
                 license: \"MIT\"\n\
                 version: 1.5\n\
                 count: 007\n\
                 quoted: '007'\n\
                 off: false\n\
                 none:\n\
                 allowed-tools: [Read, \"Bash(git:*)\"]\n\
                 metadata:\n  authors:\n    - Ada\n    - name: Bob\n  text: |\n    two\n    lines\n";
    let read = FrontMatter::read(&skill(front)).unwrap();
    assert_eq!(read.name, "pdf-forms");
    assert_eq!(read.description, "Fills in forms. Use it for PDFs.");
    assert_eq!(
        read.all,
        json!({
            "name": "pdf-forms", "description": "Fills in forms. Use it for PDFs.\n",
            "license": "MIT", "version": 1.5, "count": 7, "quoted": "007", "off": false,
            "none": null, "allowed-tools": ["Read", "Bash(git:*)"],
            "metadata": {"authors": ["Ada", {"name": "Bob"}], "text": "two\nlines\n"},
        })
    );
    let windows = "\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\n";
    assert_eq!(FrontMatter::read(windows).unwrap().name, "a");
}

#[test]
fn a_head_without_name_or_description_is_refused() {
    assert_eq!(FrontMatter::read("# A title\n"), Err(FrontMatterError::Missing));
    assert_eq!(FrontMatter::read("---\nname: a\n"), Err(FrontMatterError::Missing));
    assert_eq!(FrontMatter::read(""), Err(FrontMatterError::Missing));
    refused("- a list", "keys and values");
    refused("", "keys and values");
    refused("description: d", "needs a name");
    refused("name: a", "needs a description");
    refused("name: a\ndescription: ' '", "needs a description");
    for name in ["A", "a b", "-a", "a-", "a--b", "7.5", "12", "[a]", "ü"] {
        refused(&format!("name: {name}\ndescription: d"), "needs a name");
    }
}

#[test]
fn yaml_that_grows_or_hides_is_refused() {
    refused("name: &a x\ndescription: *a", "aliases");
    refused("name: a\nname: b", "duplicate key");
    refused("name: a\n? [b]\n: c", "key must be a text");
    refused("name: 'a", "invalid YAML");
    refused(&format!("name: a\nx: {}1{}", "[".repeat(40), "]".repeat(40)), "32 deep");
    let long = format!("name: a\nx: {}", "y".repeat(70_000));
    refused(&long, "more than 64000 bytes");
}

#[test]
fn paths_stay_in_their_folder() {
    for good in ["SKILL.md", "scripts/fill form.py", ".hidden", "a/b/ü.txt", "..a/b.."] {
        assert_eq!(check_path(good), Ok(()), "{good}");
    }
    let parts = ["/a", "a/", "a//b", "..", "a/../b", "./a", "a/ /b", ".. /x"];
    for bad in parts {
        assert_eq!(check_path(bad), Err(PathError::Parts), "{bad}");
    }
    for bad in ["a\\b", "C:x", "a\nb", "a\0"] {
        assert_eq!(check_path(bad), Err(PathError::Chars), "{bad:?}");
    }
    assert_eq!(check_path(""), Err(PathError::Len));
    assert_eq!(check_path(&"a".repeat(501)), Err(PathError::Len));
}

#[test]
fn files_must_fit_into_one_folder() {
    assert_eq!(check_folder(&["SKILL.md", "a/b", "a/c"]), Ok(()));
    assert_eq!(check_folder(&[]), Err(FolderError::Len));
    assert_eq!(check_folder(&["skill.md"]), Err(FolderError::NoMainFile));
    assert_eq!(check_folder(&["x/SKILL.md"]), Err(FolderError::NoMainFile));
    let twice = check_folder(&["SKILL.md", "a", "A"]);
    assert_eq!(twice, Err(FolderError::Twice("A".to_owned())));
    let both = check_folder(&["SKILL.md", "a/b", "a/b/c"]);
    assert_eq!(both, Err(FolderError::FileAndFolder("a/b".to_owned())));
}

#[test]
fn the_end_of_a_name_tells_its_type() {
    for (path, expected) in [
        ("SKILL.md", "text/markdown"),
        ("a.b/run.SH", "text/x-shellscript"),
        ("a.md/plain", "text/plain"),
        ("LICENSE", "text/plain"),
    ] {
        assert_eq!(content_type(path), expected, "{path}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "(---\n)?[-:\\[\\]{}&*!|>'\"#%@ \na-z0-9]{0,80}(\n---\n)?") {
        let _read = FrontMatter::read(&text);
    }

    #[test]
    fn json_is_yaml(value in arbitrary_json()) {
        prop_assert_eq!(yaml::read(&value.to_string()), Ok(value));
    }
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Into::into),
        "[ -~é]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-z ]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
