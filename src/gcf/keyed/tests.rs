//! Tests of keyed sets, their deltas and their roots.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

const FIELDS: [&str; 3] = ["id", "a,b", "Ω"];

fn set(rows: Vec<Row>) -> KeyedSet {
    let fields = FIELDS.map(str::to_owned).to_vec();
    KeyedSet::new("rows".into(), "id", fields, rows).unwrap()
}

fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        Just(Scalar::Null),
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Scalar::Float),
        ".{0,8}".prop_map(|text: String| Scalar::String(text.into())),
        prop_oneof![Just("-"), Just("true"), Just("1"), Just("@0 x"), Just("a|b"), Just("")]
            .prop_map(|text| Scalar::String(text.into())),
    ]
}

/// Sets whose identities overlap.
fn sets() -> impl Strategy<Value = KeyedSet> {
    let identity = prop_oneof![
        (0..8_i64).prop_map(Scalar::Int),
        (0..8_i64).prop_map(|id| Scalar::String(id.to_string().into())),
        "[a-c@|\"]{0,2}".prop_map(|text: String| Scalar::String(text.into())),
    ];
    vec((identity, scalar(), scalar()), 0..12).prop_map(|rows| {
        let mut seen = hashbrown::HashSet::new();
        let rows = rows.into_iter().filter(|(id, ..)| seen.insert(id.canonical_text()));
        set(rows.map(|(id, a, b)| vec![id, a, b]).collect())
    })
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code
}

fn numbers(ids: &[i64]) -> KeyedSet {
    set(ids.iter().map(|&id| vec![Scalar::Int(id), Scalar::Null, Scalar::Bool(true)]).collect())
}

proptest! {
    #[test]
    fn a_full_set_round_trips(set in sets()) {
        let text = set.write("t").unwrap();
        let read = KeyedSet::read(&text).unwrap();
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(read.rows(), set.rows());
    }

    #[test]
    fn the_pack_root_ignores_the_order_of_rows(set in sets()) {
        let mut rows = set.rows().to_vec();
        rows.reverse();
        prop_assert_eq!(super::pack_root(&set.fields, &rows).unwrap(), set.root());
    }

    #[test]
    fn applying_the_delta_returns_the_new_set(base in sets(), new in sets()) {
        let delta = Delta::between(&base, &new).unwrap().unwrap();
        let text = delta.write("", Some((1, 3))).unwrap();
        let read = Delta::read(&text).unwrap();
        prop_assert_eq!(read.added(), delta.added());
        prop_assert_eq!(read.removed(), delta.removed());
        prop_assert_eq!(&base.apply(&read).unwrap(), &new);
        prop_assert_eq!(receive(Some(&base), &text).unwrap(), new);
    }

    #[test]
    fn a_delta_with_a_flipped_bit_is_an_error_or_has_the_same_result(
        base in sets(), new in sets(), at: usize, bit in 0..8_u8,
    ) {
        let text = Delta::between(&base, &new).unwrap().unwrap().write("tool", None).unwrap();
        let mut bytes = text.into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(made) = receive(Some(&base), &text)
        {
            prop_assert_eq!(made, new);
        }
    }

    #[test]
    fn a_peer_that_receives_all_messages_has_the_last_set(
        all in vec(sets(), 2..10), every in 0..4_u64, by_size: bool,
    ) {
        let anchor = if by_size { Anchor::Size } else { Anchor::Every(every) };
        let mut producer =
            Producer::new(Arc::new(all[0].clone()), "t".into(), anchor).unwrap();
        let mut held = receive(None, &producer.full().unwrap()).unwrap();
        for next in &all[1..] {
            let answer = producer.push(Arc::new(next.clone())).unwrap();
            held = receive(Some(&held), &answer.text).unwrap();
            prop_assert_eq!(&held, next);
        }
    }
}

#[test]
fn invalid_rows_are_rejected_with_row_and_field() {
    let fields = || vec!["id".to_owned(), "v".to_owned()];
    let make = |rows| KeyedSet::new("r".into(), "id", fields(), rows);
    let row = |id| vec![id, Scalar::Null];
    let one = Scalar::Int(1);
    let error = make(vec![row(one.clone()), row(Scalar::Float(1.0))]).unwrap_err();
    assert_eq!(error.code, Code::InvalidKeyedSet);
    assert!(error.message.contains("row 1, field \"id\""), "{error}");
    assert!(make(vec![row(one.clone()), row(Scalar::String("1".into()))]).is_ok());
    assert_eq!(code(make(vec![row(Scalar::Null)])), Code::InvalidKeyedSet);
    assert_eq!(code(make(vec![vec![one.clone()]])), Code::InvalidKeyedSet);
    assert_eq!(code(make(vec![vec![one, Scalar::Float(f64::NAN)]])), Code::NotFinite);
    for (key, fields) in [("id", "id id"), ("x", "id v"), ("a>b", "a>b"), ("é", "é"), ("", "")] {
        let fields = fields.split(' ').map(str::to_owned).collect();
        let set = KeyedSet::new("r".into(), key, fields, vec![]);
        assert_eq!(code(set), Code::InvalidKeyedSet, "{key}");
    }
}

#[test]
fn a_delta_is_applied_completely_or_not_at_all() {
    let base = numbers(&[1, 2]);
    let delta = |base_root: &str, parts| {
        let fields = FIELDS.map(str::to_owned).to_vec();
        Delta::new("id", fields, base_root.to_owned(), "sha256:unused".to_owned(), parts).unwrap()
    };
    let row = |id| vec![Scalar::Int(id), Scalar::Null, Scalar::Null];
    let parts = |added: &[i64], changed: &[i64], removed: &[i64]| DeltaParts {
        added: added.iter().copied().map(row).collect(),
        changed: changed.iter().copied().map(row).collect(),
        removed: removed.iter().copied().map(Scalar::Int).collect(),
    };
    assert_eq!(code(base.apply(&delta("other", parts(&[], &[], &[])))), Code::BaseMismatch);
    for parts in [
        parts(&[1], &[], &[]),
        parts(&[], &[3], &[]),
        parts(&[], &[], &[3]),
        parts(&[], &[1], &[1]),
        parts(&[1], &[], &[1]),
    ] {
        let applied = base.apply(&delta(base.root(), parts.clone()));
        assert_eq!(code(applied), Code::DeltaInvalid, "{parts:?}");
    }
    assert_eq!(code(base.apply(&delta(base.root(), parts(&[3], &[], &[])))), Code::RootMismatch);
    assert_eq!(base, numbers(&[2, 1]));
}

#[test]
fn an_invalid_delta_is_rejected_with_its_code() {
    let head = "GCF profile=generic delta=true base_root=a new_root=b key=id\n";
    for (expected, bodies) in [
        (
            Code::MalformedDelta,
            &[
                "## moved [0]{@id}\n",
                "a=1\n",
                "## added [0]{@id}\n## added [0]{@id}\n",
                "## removed [0]{@id,v}\n",
                "##! summary\n",
                "## removed [1]{@id}\n9\n## 8\n",
            ][..],
        ),
        (
            Code::CountMismatch,
            &[
                "## added [2]{@id,v}\n1|2\n",
                "## added [1]{@id,v}\n1|2\n3|4\n",
                "## changed [0]{@id,v}\n3|4\n## removed [0]{@id}\n",
                "## removed [1]{@id}\n9\n8\n",
                "## removed [1]{@id}\n9\n  8\n",
                "## removed [1]{@id}\n9\n##! summary\n",
            ],
        ),
        (Code::RowWidthMismatch, &["## added [1]{@id,v}\n1|2|3\n"]),
        (Code::InvalidMissing, &["## added [1]{@id,v}\n1|~\n"]),
        (Code::InvalidAttachmentMarker, &["## added [1]{@id,v}\n1|^\n"]),
        (Code::InvalidKeyedSet, &["## added [1]{id,v}\n1|1\n"]),
        (Code::DeltaInvalid, &["## removed [2]{@id}\n1\n1.0\n", "## added [1]{@id}\n-\n"]),
    ] {
        for body in bodies {
            assert_eq!(code(Delta::read(&format!("{head}{body}"))), expected, "{body}");
        }
    }
    assert_eq!(code(Delta::read("GCF profile=generic delta=true key=id\n")), Code::MalformedDelta);
    assert_eq!(code(Delta::read("GCF profile=generic\n")), Code::WrongProfile);
}

#[test]
fn a_keyed_table_can_hold_a_keyed_set() {
    let text = |root: &str| {
        format!(
            "GCF profile=generic pack_root={root} key=host\n## m [2:]{{@host,up}}\nweb-01|true\n7|-\n"
        )
    };
    let error = KeyedSet::read(&text("sha256:x")).unwrap_err();
    assert_eq!(error.code, Code::RootMismatch);
    let root = &error.message["the rows have root ".len()..][..71];
    let set = KeyedSet::read(&text(root)).unwrap();
    assert_eq!(set.rows()[1][0], Scalar::String("7".into()));
}

#[test]
fn respond_chooses_the_smallest_message() {
    let sizes = |text: &str| Ok::<_, Error>(text.len() as u64);
    let long: Vec<i64> = (0..100).collect();
    let (base, new) = (numbers(&long), numbers(&long[1..]));
    let answer = |root, base| respond(&new, root, base, "t", sizes).unwrap().text;
    let delta = answer(Some(base.root()), Some(&base));
    assert!(delta.contains(" delta=true ") && delta.len() < 400, "{delta}");
    assert_eq!(receive(Some(&base), &delta).unwrap(), new);
    assert_eq!(answer(Some(base.root()), None), new.write("t").unwrap());
    assert_eq!(answer(None, Some(&base)), new.write("t").unwrap());
    assert_eq!(answer(Some("other"), Some(&base)), new.write("t").unwrap());
    let same = answer(Some(new.root()), Some(&base));
    assert!(same.ends_with("count=99\n"), "{same}");
    assert_eq!(receive(Some(&new), &same).unwrap(), new);
    assert_eq!(code(receive(Some(&base), &same)), Code::BaseMismatch);
    assert_eq!(code(receive(None, &same)), Code::BaseMismatch);
}

#[test]
fn snapshots_drop_the_oldest() {
    let mut kept = Snapshots::new(2);
    let sets = [1, 2, 3].map(|id| Arc::new(numbers(&[id])));
    for set in &sets {
        kept.keep(Arc::clone(set));
    }
    let find = |set: &KeyedSet| kept.find(set.root(), set);
    assert!(find(&sets[0]).is_none());
    assert!(find(&sets[1]).is_some() && find(&sets[2]).is_some());
}
