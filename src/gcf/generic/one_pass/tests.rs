//! Tests of the fast path against the tree.

use crate::gcf::generic::encode::{EncodeOptions, encode_tree, write_walk};
use crate::gcf::limits::Limits;
use crate::json;
use crate::value::{Value, ValueWalk};
use proptest::prelude::*;
use proptest::sample::select;

/// The text of the fast path; `None` if it stops with [`Stop::Unusual`].
fn fast(value: &Value<'_>, options: &EncodeOptions) -> Option<String> {
    let written = write_walk(&mut ValueWalk::default(), &value, options, Vec::new());
    written.ok().map(|out| out.into_string().unwrap())
}

/// Checks that the fast path writes what the tree writes. Returns whether it wrote it.
fn check(value: &Value<'_>) -> bool {
    let mut written = false;
    for flatten in [true, false] {
        for max_depth in [1, 2, 3, 4, 5, 128] {
            let limits = Limits { max_depth, ..Limits::default() };
            let options = EncodeOptions { flatten, limits, ..EncodeOptions::default() };
            if let Some(text) = fast(value, &options) {
                assert_eq!(encode_tree(value, &options).as_ref(), Ok(&text), "{value:?}");
                written = true;
            }
        }
    }
    written
}

fn parsed(json: &str) -> Value<'static> {
    json::parse(json, json::Limits::default()).unwrap()
}

#[test]
fn common_values_are_written_in_one_pass() {
    for json in [
        "null",
        "{}",
        "[]",
        r#"[1,"x|y",null,-2.5e-9,true]"#,
        r#"{"a":[1],"b":{"c":{}},"d":[[1],{"e":1},2],"":"x","k v":[]}"#,
        r#"[{"a":1,"b":"x"},{"a":2,"b":"y"},{"a":null}]"#,
        r#"[{"a":{"x":1,"y":{"z":2}}},{"a":null},{},{"a":{"x":null,"y":{"z":3}}}]"#,
        r#"[{"a":1,"b":[{"c":1,"d":2}]},{"a":2,"b":[{"c":3,"d":4},{"d":5}]},{"a":2,"b":null}]"#,
        r#"[{"a":1,"b":[[1],{"c":[]}]},{"a":{"b":{}},"b":[]},{"a":[1,2],"b":5}]"#,
        r#"[{"a":{"x>":1,"y":2,"z":3}},{"a":{"x>":4,"y":5,"z":6}},{}]"#,
        r#"{"x":{"v":1},"y":{"v":2,"key":3},"@z":{}}"#,
        r#"{"x":{"v":1,"key":0},"y":{"v":2,"key":3},"a,b":{}}"#,
    ] {
        let value = parsed(json);
        let is_keyed_with_new_key = json.contains("\"v\":1}");
        assert_eq!(check(&value), !is_keyed_with_new_key, "{json}");
    }
}

/// A value whose containers often have keys and types in common.
fn value() -> impl Strategy<Value = Value<'static>> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        prop_oneof![any::<f64>(), -1e3..1e3, Just(-0.0), Just(f64::NAN)].prop_map(Value::Float),
        select(vec!["", "a", "a,b", " x", "1", "Köln", "\u{2028}", "[a]:", "“q”"])
            .prop_map(|text| Value::String(text.into())),
        "\\PC{0,40}".prop_map(|text| Value::String(text.into())),
    ];
    scalar.prop_recursive(5, 60, 6, |inner| {
        let key = select(vec!["a", "b", "c", "key", "a>b", ">", "", "x y"]);
        let object = prop::collection::vec((key, inner.clone()), 0..5).prop_map(object);
        let rows = (object.clone(), prop::collection::vec((0..30_usize, inner.clone()), 1..6))
            .prop_map(|(row, changes)| rows(&row, changes));
        let members = rows.clone().prop_map(|rows| match rows {
            Value::Array(rows) => {
                let member = |(index, row)| (format!("m{index}").into(), row);
                Value::Object(rows.into_iter().enumerate().map(member).collect())
            }
            other => other,
        });
        let array = prop::collection::vec(inner, 0..5).prop_map(Value::Array);
        prop_oneof![object, array, rows, members]
    })
}

/// An object of the members with new keys.
fn object(members: Vec<(&'static str, Value<'static>)>) -> Value<'static> {
    let mut distinct: Vec<(_, Value<'_>)> = Vec::new();
    for (key, value) in members {
        if distinct.iter().all(|(other, _)| *other != key) {
            distinct.push((key.into(), value));
        }
    }
    Value::Object(distinct)
}

/// Copies of a row, of which each has one change.
fn rows(row: &Value<'static>, changes: Vec<(usize, Value<'static>)>) -> Value<'static> {
    let apply = |(change, value): (usize, Value<'static>)| {
        let mut row = row.clone();
        if let Value::Object(members) = &mut row {
            let count = members.len().max(1);
            match (change / count, members.get_mut(change % count)) {
                (0, Some(member)) => member.1 = value,
                (1, Some(_)) => drop(members.remove(change % count)),
                (2, Some(_)) => members.rotate_left(1),
                (3, _) => members.push(("new".into(), value)),
                (4, _) => row = value,
                _ => {}
            }
        }
        row
    };
    Value::Array(changes.into_iter().map(apply).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn the_fast_path_writes_what_the_tree_writes(value in value()) {
        check(&value);
    }
}

/// Tables with one row that contradicts the others, in the first places, the middle and the last.
#[test]
fn a_contradicting_row_is_left_to_the_tree() {
    let row = r#"{"s":1,"n":null,"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#;
    let others = [
        r#"{"s":{"x":1},"n":null,"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":{"x":1},"f":{"x":1,"y":{"z":"t"}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":{"y":{"z":"t"},"x":1},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":{"x":1,"y":{"z":"t","w":1}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":{"x":null,"y":{"z":null}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":{"x":1,"y":{}},"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":5,"t":[{"c":1,"d":2}],"l":[1,2]}"#,
        r#"{"s":1,"n":null,"f":null,"t":[],"l":{"a":[]}}"#,
        r#"{"s":1,"n":null,"f":null,"t":[{"c":1}],"l":[[]]}"#,
        r#"{"s":1,"n":null,"f":null,"t":[{"c":1,"d":2},{"e":2}],"l":[{"a":1}]}"#,
        r#"{"s":1,"n":null,"f":null,"t":[{"c":1,"d":[]}],"l":7}"#,
        r#"{"s":1,"n":null,"f":null,"t":7,"l":null}"#,
        r#"{"s":1,"n":[{"c":1}],"f":null,"l":[1,2]}"#,
        r#"{"n":1,"s":null}"#,
        r#"{"s":1,"o":2}"#,
        r#"{"s":1,"s>t":2}"#,
        "{}",
        "[]",
        "3",
    ];
    for other in others {
        for at in [0, 1, 2, 12, 24] {
            let rows: Vec<_> = (0..25).map(|i| if i == at { other } else { row }).collect();
            check(&parsed(&format!("[{}]", rows.join(","))));
            let members: Vec<_> =
                rows.iter().enumerate().map(|(i, row)| format!("\"m{i}\":{row}")).collect();
            check(&parsed(&format!("{{\"k\":{{{}}}}}", members.join(","))));
        }
    }
}

#[test]
fn a_sparse_table_is_left_to_the_tree_before_it_is_long() {
    let names: Vec<_> = (0..3000).map(|i| format!("\"c{i}\":1")).collect();
    let mut rows = vec![format!("{{{}}}", names.join(","))];
    rows.resize(3000, "{\"c0\":1}".to_owned());
    let value = parsed(&format!("[{}]", rows.join(",")));
    let options = EncodeOptions::default();
    assert_eq!(fast(&value, &options), None);
    assert!(encode_tree(&value, &options).unwrap().len() < 200_000);
}
