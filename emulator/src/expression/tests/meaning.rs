//! The results of expressions on items.

use super::super::ExpressionKind::Filter;
use super::super::*;
use super::{item, message, substitutions, value};
use crate::value::{AttributeValue, Item, Map};

fn stored() -> Map {
    let mut map = item(&[
        ("n", "5"),
        ("s", "'abc"),
        ("e", "'é😀"),
        ("bin", "B|abc"),
        ("l", "L|0 1 2"),
        ("ss", "SS|a b"),
        ("ns", "NS|1 2"),
        ("bs", "BS|a b"),
        ("words", "SS|ab cde"),
        ("blobs", "BS|ab cde"),
        ("amounts", "NS|100 2000"),
        ("t", "true"),
        ("nul", "null"),
        ("nul2", "null"),
        ("m", "M|x=1 y='q"),
        ("big", "9.9e125"),
        ("tiny", "1e-130"),
        ("pk", "'p"),
    ]);
    map.insert(
        "deep".into(),
        AttributeValue::M(item(&[("l", "L|'p 'q 'r"), ("ss", "SS|a"), ("k", "1")])),
    );
    map.insert(
        "ls".into(),
        AttributeValue::L(vec![value("SS|a"), value("3"), value("M|x=1")]),
    );
    map
}

#[test]
fn conditions() {
    let item = stored();
    let check = |text: &str, expected: bool| {
        let (cache, substitutions) = (Cache::new(), substitutions(text));
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let condition = scope
            .condition(Filter, text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(condition.matches(Some(&item)), expected, "{text}");
    };
    for text in [
        "n <> s",
        "zz <> :v",
        "zz <> yy",
        "NOT zz = :v",
        "NOT zz < :n",
        "NOT zz IN (:v)",
        "NOT s < :n",
        "n > :n AND n >= :m",
        "n BETWEEN :n AND big",
        "nul = nul2",
        "n IN (:v, s, size(zz), n2, l[1], :n) OR l[1] IN (:v, :n)",
        "attribute_exists(nul) AND attribute_not_exists(zz.y) AND attribute_not_exists(s.x)",
        "attribute_type(s, :t) AND NOT attribute_type(n, :t) AND NOT attribute_type(zz, :t)",
        "begins_with(s, pre) OR begins_with(:v, :v)",
        "contains(ss, ls[0]) OR contains(ss, deep.ss) OR contains(l, :n)",
        "contains(deep.l, pk)",
        "contains(l, m.x) AND contains(ns, m.x) AND NOT contains(ns, n)",
        "NOT contains(m, s) AND NOT contains(n, :n) AND NOT contains(t, :b)",
        "size(s) > :m AND size(bin) = size(s)",
        "size(e) = size(s)",
        "size(l) = size(s) AND size(ss) = :m AND size(ns) = :m AND size(bs) = :m AND size(m) = :m",
        "size(words) = :m AND size(blobs) = :m AND size(amounts) = :m",
        "size(n) <> :n AND NOT size(n) = :n AND NOT size(zz) < :n AND size(zz) <> :n",
        "size(s) <> :v",
        "m.x = :n AND l[1] = m.x AND l[9] <> :n",
        "zz = :v OR n = n2 OR s <> :v AND n > :n",
        "s <> :v OR zz = :v AND zz = :w",
        "NOT (zz = :v OR zz = :w) AND NOT zz = :v",
        "(zz = :v AND zz = :v) OR s <> :v",
    ] {
        check(text, true);
    }
    for text in [
        "zz = :v",
        "zz = yy",
        "n = :v",
        "n < :v",
        "t < n",
        "ss < l",
        "zz BETWEEN :v AND :w",
        "n BETWEEN s AND big",
        "zz IN (yy)",
        "nul = zz",
        "ss = l",
        "contains(ss, ss2) OR contains(ss, :ss)",
        "s = :v AND s <> :v OR zz = :v",
        "zz = :v OR (s <> :v AND zz = :v)",
        "NOT s <> :v",
    ] {
        check(text, false);
    }
}

/// Whether a condition holds for an item of the attributes `a` and `b`.
fn holds(condition: &str, a: &str, b: &str) -> bool {
    let (cache, substitutions) = (Cache::new(), crate::request::Substitutions::default());
    let mut scope = Bindings::new(&substitutions, &cache).unwrap();
    let condition = scope.condition(Filter, condition).unwrap();
    condition.matches(Some(&item(&[("a", a), ("b", b)])))
}

#[test]
fn parts_are_contained_in_values_of_their_type() {
    for (whole, part, expect) in [
        ("'abc", "'bc", true),
        ("'abc", "'", true),
        ("'abc", "'ac", false),
        ("'abc", "B|bc", false),
        ("'1", "1", false),
        ("B|abc", "B|bc", true),
        ("B|abc", "B|ac", false),
        ("B|abc", "'bc", false),
        ("SS|a b", "'b", true),
        ("SS|a b", "'c", false),
        ("SS|a b", "B|a", false),
        ("SS|a b", "SS|a b", false),
        ("NS|1 2", "2.0", true),
        ("NS|1 2", "3", false),
        ("NS|1 2", "'1", false),
        ("BS|a b", "B|b", true),
        ("BS|a b", "B|c", false),
        ("BS|a b", "'a", false),
        ("L|1 'x", "'x", true),
        ("L|1 'x", "1.0", true),
        ("L|1 'x", "2", false),
        ("L|1 null", "null", true),
        ("L|1 true", "false", false),
        ("M|x=1", "'x", false),
        ("12", "1", false),
        ("true", "true", false),
        ("null", "null", false),
    ] {
        assert_eq!(holds("contains(a, b)", whole, part), expect, "{whole} {part}");
    }
    for (text, prefix, expect) in [
        ("'abc", "'ab", true),
        ("'abc", "'", true),
        ("'abc", "'abcd", false),
        ("'abc", "'bc", false),
        ("B|abc", "B|ab", true),
        ("B|abc", "B|bc", false),
        ("B|abc", "'ab", false),
        ("'abc", "B|ab", false),
        ("12", "1", false),
        ("L|'a", "'a", false),
    ] {
        assert_eq!(holds("begins_with(a, b)", text, prefix), expect, "{text} {prefix}");
    }
}

#[test]
fn values_of_one_scalar_type_have_an_order() {
    for (less, more) in [
        ("1", "2"),
        ("-1", "0"),
        ("'A", "'a"),
        ("'a", "'aa"),
        ("'z", "'é"),
        ("B|a", "B|b"),
        ("B|a", "B|aa"),
    ] {
        for (condition, of_less, of_equal, of_more) in [
            ("a < b", true, false, false),
            ("a <= b", true, true, false),
            ("a > b", false, false, true),
            ("a >= b", false, true, true),
            ("a = b", false, true, false),
            ("a <> b", true, false, true),
            ("a BETWEEN b AND b", false, true, false),
            ("a IN (b)", false, true, false),
        ] {
            let found = [(less, more), (less, less), (more, less)].map(|(a, b)| holds(condition, a, b));
            assert_eq!(found, [of_less, of_equal, of_more], "{condition} {less} {more}");
        }
    }
    let others = ["true", "null", "L|1", "M|x=1", "SS|a", "NS|1", "BS|a"];
    for (at, value) in others.iter().enumerate() {
        for condition in ["a < b", "a <= b", "a > b", "a >= b", "a BETWEEN b AND b"] {
            assert!(!holds(condition, value, value), "{condition} {value}");
            assert!(
                !holds(condition, value, "1") && !holds(condition, "1", value),
                "{condition} {value}"
            );
        }
        assert!(
            holds("a = b", value, value) && !holds("a <> b", value, value),
            "{value}"
        );
        for other in &others[..at] {
            assert!(
                !holds("a = b", value, other) && holds("a <> b", value, other),
                "{value} {other}"
            );
        }
    }
}

#[test]
fn sizes_of_values() {
    for (value, size) in [
        ("'", Some(0)),
        ("'abc", Some(3)),
        ("'é😀", Some(3)),
        ("B|abc", Some(3)),
        ("SS|aa b", Some(2)),
        ("NS|1 22 333", Some(3)),
        ("BS|aa b", Some(2)),
        ("L|", Some(0)),
        ("L|1 2", Some(2)),
        ("M|x=1 y=2 z=3", Some(3)),
        ("12", None),
        ("true", None),
        ("null", None),
    ] {
        for other in 0..5 {
            assert_eq!(
                holds("size(a) = b", value, &other.to_string()),
                size == Some(other),
                "{value} {other}"
            );
            assert_eq!(
                holds("size(a) > b", value, &other.to_string()),
                size.is_some_and(|size| size > other),
                "{value} {other}"
            );
        }
    }
}

#[test]
fn equality_is_deep_and_by_value() {
    let item = stored();
    let check = |path: &str, other: &str, expected: bool| {
        let values = vec![(":x".into(), value(other))];
        let substitutions = crate::request::Substitutions {
            names: None,
            values: Some(values),
        };
        let cache = Cache::new();
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let condition = scope.condition(Filter, &format!("{path} = :x")).unwrap();
        assert_eq!(condition.matches(Some(&item)), expected, "{path} {other}");
    };
    check("n", "5.0", true);
    check("n", "50e-1", true);
    check("ns", "NS|2.0 1e0", true);
    check("l", "L|0 1.0 2", true);
    check("l", "L|0 2 1", false);
    check("m", "M|y='q x=1.00", true);
    check("ss", "SS|b a", true);
    check("ss", "L|'a 'b", false);
}

/// Applies `text` to the stored item, or to none, and returns the new value at `name`.
fn updated(text: &str, exists: bool) -> Result<Option<Map>, String> {
    let (cache, substitutions) = (Cache::new(), substitutions(text));
    let mut scope = Bindings::new(&substitutions, &cache).unwrap();
    let update = scope.update(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let stored = stored();
    update
        .apply(exists.then_some(&stored), &item(&[("pk", "'p")]))
        .map_err(message)
}

#[test]
fn updates() {
    let check = |text: &str, name: &str, expected: &str| {
        let new = updated(text, true)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .unwrap();
        let expected = (!expected.is_empty()).then(|| value(expected));
        assert_eq!(new.get(name), expected.as_ref(), "{text}");
    };
    check("SET q = n + :n", "q", "6");
    check("SET n = n - :m", "n", "3");
    check("SET q = n - :neg", "q", "8");
    check("SET q = :neg - n", "q", "-8");
    check("SET q = n + :neg", "q", "2");
    check("SET q = :neg - :neg", "q", "0");
    check("SET n = s, s = n", "s", "5");
    check("SET n = s, s = n", "n", "'abc");
    check("SET q = if_not_exists(n, zz)", "q", "5");
    check("SET q = if_not_exists(zz, if_not_exists(yy, n))", "q", "5");
    check("SET q = if_not_exists(zz, :n) + if_not_exists(n, zz)", "q", "6");
    check("SET q = if_not_exists(nul, :n)", "q", "null");
    check("SET l = list_append(l, :l)", "l", "L|0 1 2 'q");
    check("SET l = list_append(:l, l)", "l", "L|'q 0 1 2");
    check("SET q = list_append(if_not_exists(zz, :el), :l)", "q", "L|'q");
    check("SET m.z = :n", "m", "M|x=1 y='q z=1");
    check("SET m.x = m.y, m.y = m.x", "m", "M|x='q y=1");
    check("SET l[1] = :v", "l", "L|0 'x 2");
    check("SET l[9] = :n, l[7] = :v", "l", "L|0 1 2 'x 1");
    check("SET l[3] = :v, l[1] = :v REMOVE l[0]", "l", "L|'x 2 'x");
    check("SET l[9] = :v REMOVE l[3]", "l", "L|0 1 2 'x");
    check("SET l[9] = :v, l[10] = :n REMOVE l[2]", "l", "L|0 1 'x 1");
    check("REMOVE l[0], l[2]", "l", "L|1");
    check("REMOVE l[2], l[0], l[1]", "l", "L|");
    check("REMOVE l[9], zz, m.zz", "l", "L|0 1 2");
    check("REMOVE m.x", "m", "M|y='q");
    check("REMOVE n", "n", "");
    check("ADD n :n", "n", "6");
    check("ADD zz :n", "zz", "1");
    check("ADD zz :ss", "zz", "SS|a");
    check("ADD ns :ns", "ns", "NS|1 2");
    check("ADD bs :bs", "bs", "BS|a b");
    check("ADD m.x :n", "m", "M|x=2 y='q");
    check("ADD m.z :n", "m", "M|x=1 y='q z=1");
    check("ADD l[0] :n", "l", "L|1 1 2");
    check("ADD l[9] :n", "l", "L|0 1 2 1");
    check("DELETE ss :ss", "ss", "SS|b");
    check("DELETE ns :ns", "ns", "NS|2");
    check("DELETE bs :bs", "bs", "BS|b");
    check("DELETE zz :ss, m.zz :ss", "zz", "");
    check("DELETE ls[0] :ss REMOVE ls[1], ls[2].x", "ls", "L|M|");
    check("SET c = pk", "c", "'p");
}

#[test]
fn emptied_sets_and_positions_inside_of_lists() {
    let new = updated(
        "DELETE deep.ss :ss REMOVE deep.l[0] SET deep.l[1] = :v, deep.l[5] = :w",
        true,
    )
    .unwrap()
    .unwrap();
    assert_eq!(
        new.get("deep"),
        Some(&AttributeValue::M(item(&[("l", "L|'x 'r 'z"), ("k", "1")])))
    );
    let new = updated("REMOVE deep.l[0], deep.l[2], ls[2].x, deep.k, ls[1]", true)
        .unwrap()
        .unwrap();
    assert_eq!(
        new.get("deep"),
        Some(&AttributeValue::M(item(&[("l", "L|'q"), ("ss", "SS|a")])))
    );
    assert_eq!(
        new.get("ls"),
        Some(&AttributeValue::L(vec![value("SS|a"), value("M|")]))
    );
    let new = updated("REMOVE ls[0], ls[2].x SET ls[1] = :v", true).unwrap().unwrap();
    assert_eq!(new.get("ls"), Some(&AttributeValue::L(vec![value("'x"), value("M|")])));
}

#[test]
fn many_removals_from_a_long_list() {
    let positions: Vec<String> = (0..500).map(|at| format!("l[{}]", at * 2)).collect();
    let (cache, nothing) = (Cache::new(), crate::request::Substitutions::default());
    let update = Bindings::new(&nothing, &cache)
        .unwrap()
        .update(&format!("REMOVE {}", positions.join(",")))
        .unwrap();
    let list = |numbers: &mut dyn Iterator<Item = i64>| {
        AttributeValue::L(numbers.map(|at| AttributeValue::N(at.into())).collect())
    };
    let old = Map::from_entries(vec![("l".into(), list(&mut (0..100_000)))]);
    let new = update.apply(Some(&old), &Map::new()).unwrap().unwrap();
    assert_eq!(
        new.get("l"),
        Some(&list(&mut (0..1000).filter(|at| at % 2 == 1).chain(1000..100_000)))
    );
}

#[test]
fn updates_that_fail() {
    const PATH: &str = "The document path provided in the update expression is invalid for update";
    const MISSING: &str = "The provided expression refers to an attribute that does not exist in the item";
    const TYPE: &str = "An operand in the update expression has an incorrect data type";
    let check = |texts: &[&str], expected: &str| {
        for text in texts {
            assert_eq!(updated(text, true), Err(expected.to_owned()), "{text}");
        }
    };
    check(
        &[
            "SET q.r = :n",
            "SET s.x = :n",
            "SET m.y.z = :n",
            "SET m[0] = :n",
            "SET l.a = :n",
            "SET zz[0] = :n",
        ],
        PATH,
    );
    check(
        &[
            "REMOVE l[0].x",
            "REMOVE zz.x",
            "REMOVE s.x",
            "REMOVE l.a",
            "REMOVE m[0]",
            "ADD zz.y :n",
        ],
        PATH,
    );
    check(
        &[
            "DELETE zz.y :ss",
            "SET l[3].a = :n",
            "SET q = zz, s.x = :n",
            "SET s.x = :n, q = zz",
        ],
        PATH,
    );
    check(
        &[
            "SET q = zz + :n",
            "SET q = zz + s",
            "SET a = b",
            "SET q = l[9]",
            "SET q = if_not_exists(zz, yy)",
        ],
        MISSING,
    );
    check(
        &[
            "SET q = n + s",
            "SET q = s + zz",
            "SET q = list_append(l, s)",
            "SET q = if_not_exists(zz, :v) + :n",
        ],
        TYPE,
    );
    check(
        &[
            "ADD s :n",
            "ADD ss :ns",
            "DELETE n :ss",
            "DELETE ss :ns",
            "SET q = n + s REMOVE zz.y",
        ],
        TYPE,
    );
    check(
        &["SET q = big + big"],
        "Number overflow. Attempting to store a number with magnitude larger than supported range",
    );
}

#[test]
fn a_missing_item() {
    for text in [
        "REMOVE x",
        "REMOVE x.y",
        "REMOVE x[0]",
        "DELETE x :ss",
        "REMOVE x.y DELETE z.z :ss",
    ] {
        assert_eq!(updated(text, false), Ok(None), "{text}");
    }
    let key = [("pk", "'p")];
    for (text, name, expected) in [
        ("SET c = pk", "c", "'p"),
        ("ADD c :n", "c", "1"),
        ("SET c = :n REMOVE x.y", "c", "1"),
    ] {
        assert_eq!(
            updated(text, false),
            Ok(Some(item(&[key[0], (name, expected)]))),
            "{text}"
        );
    }
    assert!(updated("SET x.y = :n", false).is_err());
}

#[test]
fn nesting_by_grafting() {
    let deep = |levels: usize| (0..levels).fold(value("1"), |inner, _| AttributeValue::L(vec![inner]));
    let check = |levels: usize, text: &str, expected: Option<&str>| {
        let substitutions = crate::request::Substitutions {
            names: None,
            values: Some(vec![(":d".into(), deep(levels))]),
        };
        let cache = Cache::new();
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let new = scope.update(text).unwrap().apply(Some(&stored()), &Map::new());
        assert_eq!(new.err().map(message).as_deref(), expected, "{levels} {text}");
    };
    const TEXT: &str = "Nesting Levels have exceeded supported limits";
    check(31, "SET a = :d", None);
    check(32, "SET a = :d", Some(TEXT));
    check(30, "SET m.a = :d", None);
    check(31, "SET m.a = :d", Some(TEXT));
    check(29, "SET ls[2].x = :d", None);
    check(30, "SET ls[2].x = :d", Some(TEXT));
}

#[test]
fn what_is_touched_and_charged() {
    let old = stored();
    let (cache, nothing) = (Cache::new(), crate::request::Substitutions::default());
    let check = |text: &str, expected: Map, charge: usize| {
        let mut scope = Bindings::new(&nothing, &cache).unwrap();
        let update = scope.update(text).unwrap();
        assert_eq!(update.touched(&Item::new(&old)), expected, "{text}");
        assert_eq!(update.charge(&Item::new(&old)), charge, "{text}");
    };
    let nested =
        |name: &str, inner: &[(&str, &str)]| Map::from_entries(vec![(name.into(), AttributeValue::M(item(inner)))]);
    check("SET n = zz, zz = n", item(&[("n", "5")]), 3 + 19 + 19 + 3);
    check("SET m.x = zz", item(&[("m", "M|x=1")]), 3 + 19 + 11);
    check("SET m.z = n, l[7] = n", Map::new(), 3 + 19 + 20 + 11 + 12);
    check(
        "REMOVE deep.l[1], s",
        nested("deep", &[("l", "L|'q")])
            .into_iter()
            .chain(item(&[("s", "'abc")]))
            .collect(),
        3 + 2 + 2 + 4 + 26,
    );
    check(
        "SET deep.l[2] = n, deep.l[0] = n, deep.zz = n",
        nested("deep", &[("l", "L|'p 'r")]),
        3 + 20 + 20 + 19 + 26,
    );
}

#[test]
fn projections() {
    let item_ = stored();
    let check = |text: &str, expected: &Map| {
        let (cache, substitutions) = (Cache::new(), substitutions(text));
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        assert_eq!(scope.projection(text).unwrap().apply(&item_), *expected, "{text}");
    };
    let nested = |inner: &[(&str, &str)]| Map::from_entries(vec![("deep".into(), AttributeValue::M(item(inner)))]);
    check("s, n, zz", &item(&[("n", "5"), ("s", "'abc")]));
    check("l[2], l[0], l[9]", &item(&[("l", "L|0 2")]));
    check("l[9], zz.y, s.x, m[0]", &Map::new());
    check("deep.l[2], deep.k, deep.l[0]", &nested(&[("l", "L|'p 'r"), ("k", "1")]));
    check("deep", &nested(&[("l", "L|'p 'q 'r"), ("ss", "SS|a"), ("k", "1")]));
    check(
        "ls[2].x, ls[0]",
        &Map::from_entries(vec![(
            "ls".into(),
            AttributeValue::L(vec![value("SS|a"), value("M|x=1")]),
        )]),
    );
    check("#dot, ss", &item(&[("ss", "SS|a b")]));
    let (cache, nothing) = (Cache::new(), crate::request::Substitutions::default());
    let mut scope = Bindings::new(&nothing, &cache).unwrap();
    let projection = scope.projection("b.c, a, b.a").unwrap();
    assert_eq!(projection.top_level_names().collect::<Vec<_>>(), ["a", "b"]);
}
