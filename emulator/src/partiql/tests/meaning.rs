//! What statements are lowered to.

use crate::partiql::{Prepared, Statement, StatementCache, only_key, written_key};
use crate::plan::SelectRanges;
use crate::schema::{Adjustments, Definition, Index, KeyAttribute, KeySchema, Projection, ScalarType, Throughput};
use crate::storage::KeyRange;
use crate::value::{AttributeValue, Item, Map};

fn attribute(name: &str) -> KeyAttribute {
    KeyAttribute {
        name: name.into(),
        kind: ScalarType::S,
    }
}

fn schema() -> KeySchema {
    KeySchema::new([attribute("pk")], [attribute("sk")])
}

fn index() -> Index {
    Index {
        name: "idx".into(),
        key: KeySchema::new([attribute("g")], []),
        projection: Projection::KeysOnly,
        local: false,
        throughput: Throughput::default(),
        adjustments: Adjustments::default(),
        on_demand: None,
        warm: None,
    }
}

fn definition() -> Definition {
    Definition {
        attributes: vec![attribute("g"), attribute("pk"), attribute("sk")],
        globals: vec![index()],
        ..Definition::of_key(schema())
    }
}

/// What a SELECT with this clause reads: `scan`, or its partitions in order and `>` or `<` for the way through each; or
/// what is wrong.
fn reads(clause: &str) -> String {
    let statement = format!("SELECT * FROM tab WHERE {clause}");
    let prepared = Prepared::new(&statement, Vec::new(), &StatementCache::new()).unwrap();
    let Statement::Select(select) = prepared.bind().unwrap() else {
        panic!("{statement}")
    };
    let definition = definition();
    let index = index();
    let index = prepared.index().map(|_| &index);
    match SelectRanges::plan(&definition, index, &select) {
        Err(error) => error.message().unwrap().to_owned(),
        Ok(reads) => {
            let partitions: Vec<&str> = reads
                .ranges
                .iter()
                .map(|range| match range.first_value() {
                    Some(AttributeValue::S(text)) => text.as_str(),
                    _ => "scan",
                })
                .collect();
            format!("{}{}", partitions.join(" "), if reads.forward { " >" } else { " <" })
        }
    }
}

fn check(cases: &[(&str, &str)]) {
    for (clause, expect) in cases {
        assert_eq!(reads(clause), *expect, "{clause}");
    }
}

const OVERLAP: &str = "Overlapping conditions with range keys are not supported in where clause";
const TYPE: &str = "Key attribute's data type should match its data type in table's schema: Key ";

#[test]
fn queries_and_scans_are_told_apart() {
    check(&[
        ("pk = 'a'", "a >"),
        ("'a' = pk", "a >"),
        ("pk = 'a' AND sk > '1' AND sk < '3'", "a >"),
        ("pk = 'a' AND (x = 1 OR y = 2)", "a >"),
        ("pk = 'a' AND begins_with(sk, 'x')", "a >"),
        ("pk IN ['b', 'a']", "a b >"),
        ("pk = 'b' OR pk = 'a'", "a b >"),
        ("pk IN ['b', 'a'] AND sk IN ['2', '1']", "a a b b >"),
        ("(pk = 'a' AND sk = '1') OR (pk = 'a' AND sk = '2')", "a a >"),
        ("pk = 'a' AND pk = 'a'", "a >"),
        ("pk = 'a' AND pk = 'b'", "a >"),
        ("pk = 'a' AND sk = '1' AND sk = '2'", "a >"),
        ("x = 1 AND (pk = 'a' AND pk = 'b')", "a >"),
        ("(pk = 'a' AND pk = 'b') AND pk = 'a'", "a >"),
        ("(pk = 'a' AND pk = 'b') OR pk = 'c'", "c >"),
        ("(x = 1 AND (pk = 'a' AND pk = 'b')) OR pk = 'c'", "c >"),
        ("pk = 'c' OR (sk > '1' AND (pk = 'a' AND pk = 'b'))", "c >"),
        ("pk IN ['b'] OR pk IN ['c', 'a']", "a b c >"),
        ("pk = 'b' OR pk IN ['a']", "a b >"),
        ("pk = 'a' AND (x IN [1] OR y IN [2])", "a >"),
        ("pk = 'a' OR x = 1", "scan >"),
        ("x = 1 OR pk = 'a'", "scan >"),
        ("pk.x = 'a'", "scan >"),
        ("m.pk = 'a'", "scan >"),
        ("pk[0] IN ['a']", "scan >"),
        ("pk.x IN ['a']", "scan >"),
        ("size(pk) = 1", "scan >"),
        ("x = 1 AND pk = 'a'", "a >"),
        ("(x = 1 AND pk = 'a') OR (pk = 'b' AND y = 2)", "a b >"),
        ("(x = 1 OR pk = 'a') AND (y = 2 OR pk = 'b')", "scan >"),
        ("pk > 'a'", "scan >"),
        ("pk <> 'a'", "scan >"),
        ("NOT pk = 'a'", "scan >"),
        ("pk = sk", "scan >"),
        ("sk = '1'", "scan >"),
        ("x = 1", "scan >"),
        ("begins_with(pk, 'a')", "scan >"),
    ]);
}

#[test]
fn no_item_is_read_twice() {
    check(&[
        ("pk IN ['a', 'a']", OVERLAP),
        ("pk = 'a' OR pk = 'a'", OVERLAP),
        ("(pk = 'a' AND sk > '1') OR (pk = 'a' AND sk < '3')", OVERLAP),
        ("(pk = 'a' AND sk = '1') OR (pk = 'a' AND x = 2)", OVERLAP),
        ("pk = 'a' AND (sk = '1' OR x = 2)", OVERLAP),
        ("pk = 'a' AND (x = 2 OR sk = '1')", OVERLAP),
        ("pk = 'a' AND (sk IN ['1', '2'] OR x = 2)", OVERLAP),
        ("pk = 'a' AND (x IN [2] OR sk IN ['1'])", OVERLAP),
        ("pk IN ['a'] OR pk IN ['b', 'a']", OVERLAP),
        ("pk = 'a' AND ((x = 1 AND sk = '1') OR y = 2)", OVERLAP),
        ("pk = 'a' AND ((sk = '1' AND x = 1) OR y = 2)", OVERLAP),
        ("pk = 'a' AND (y = 2 OR (x = 1 OR sk = '1'))", OVERLAP),
        ("(pk = 'a' AND sk < '2') OR (pk = 'a' AND sk >= '2')", "a a >"),
        ("(pk = 'a' AND NOT sk = '1') OR (pk = 'a' AND sk = '1')", "a >"),
        ("(pk = 'a' AND sk <> '1') OR (pk = 'a' AND sk = '2')", "a >"),
        (
            "(pk = 'a' AND NOT (sk = '1' AND x = 1)) OR (pk = 'a' AND sk = '1')",
            "a >",
        ),
        (
            "(pk = 'a' AND NOT (x = 1 OR sk = '1')) OR (pk = 'a' AND sk = '1')",
            "a >",
        ),
        ("(pk = 'a' AND NOT sk IN ['1']) OR (pk = 'a' AND sk = '1')", "a >"),
        (
            "(pk = 'a' AND NOT begins_with(sk, '1')) OR (pk = 'a' AND sk = '1')",
            "a >",
        ),
        ("(pk = 'a' AND size(sk) > 1) OR (pk = 'a' AND sk = '1')", "a >"),
        ("(pk = 'a' AND NOT x = 1) OR (pk = 'a' AND sk = '1')", OVERLAP),
        ("(pk = 'a' AND NOT pk = 'b') OR (pk = 'a' AND sk = '1')", OVERLAP),
        ("(pk = 'a' AND x <> 1) OR (pk = 'a' AND sk = '1')", OVERLAP),
        ("(pk = 'a' AND NOT x IN [1]) OR (pk = 'a' AND sk = '1')", OVERLAP),
        (
            "(pk = 'a' AND NOT begins_with(x, '1')) OR (pk = 'a' AND sk = '1')",
            OVERLAP,
        ),
    ]);
}

/// The ranges of keys that a SELECT with this clause reads.
fn ranges(clause: &str) -> Vec<KeyRange> {
    let statement = format!("SELECT * FROM tab WHERE {clause}");
    let prepared = Prepared::new(&statement, Vec::new(), &StatementCache::new()).unwrap();
    let Statement::Select(select) = prepared.bind().unwrap() else {
        panic!("{statement}")
    };
    let reads = SelectRanges::plan(&definition(), None, &select).unwrap();
    reads.ranges.into_iter().map(|range| range.keys).collect()
}

#[test]
fn conditions_on_the_sort_key_narrow_the_range() {
    for (clause, plain) in [
        ("pk = 'a' AND x = 1", "pk = 'a'"),
        ("pk = 'a' AND NOT sk = '1'", "pk = 'a'"),
        ("pk = 'a' AND sk.x IN ['1']", "pk = 'a'"),
        ("pk = 'a' AND sk.x = '1'", "pk = 'a'"),
        ("pk = 'a' AND begins_with(sk.x, '1')", "pk = 'a'"),
        ("pk = 'a' AND x IN ['1']", "pk = 'a'"),
        ("pk = 'a' AND sk IN ['1', x]", "pk = 'a'"),
        ("pk = 'a' AND sk <> '1'", "pk = 'a'"),
        ("pk = 'a' AND (sk <> '1' OR x = 1)", "pk = 'a'"),
        ("(pk = 'a' AND NOT sk = '1') OR (pk = 'a' AND sk = '1')", "pk = 'a'"),
        ("pk = 'a' AND sk > '1' AND NOT sk = '2'", "pk = 'a' AND sk > '1'"),
        ("'1' < sk AND pk = 'a'", "pk = 'a' AND sk > '1'"),
        ("pk = 'a' AND sk > '1' AND sk > '0'", "pk = 'a' AND sk > '1'"),
        (
            "pk = 'a' AND sk >= '1' AND sk <= '3'",
            "pk = 'a' AND sk BETWEEN '1' AND '3'",
        ),
        ("pk = 'a' AND sk IN ['2']", "pk = 'a' AND sk = '2'"),
        ("pk = 'a' AND sk = '2' AND x = 1", "pk = 'a' AND sk = '2'"),
        ("pk = 'a' AND sk = '2' AND sk > '1'", "pk = 'a' AND sk = '2'"),
        (
            "pk = 'a' AND begins_with(sk, 'x') AND sk >= 'w'",
            "pk = 'a' AND begins_with(sk, 'x')",
        ),
        ("pk IN ['a'] AND sk < '1'", "pk = 'a' AND sk < '1'"),
    ] {
        assert_eq!(ranges(clause), ranges(plain), "{clause}");
    }
    let different = [
        "pk = 'a'",
        "pk = 'a' AND sk = '1'",
        "pk = 'a' AND sk < '1'",
        "pk = 'a' AND sk <= '1'",
        "pk = 'a' AND sk > '1'",
        "pk = 'a' AND sk >= '1'",
        "pk = 'a' AND sk > '1' AND sk < '3'",
        "pk = 'a' AND sk BETWEEN '1' AND '3'",
        "pk = 'a' AND begins_with(sk, '1')",
        "pk = 'b' AND begins_with(sk, '1')",
        "pk IN ['a', 'b'] AND begins_with(sk, '1')",
        "x = 1",
    ];
    for (at, one) in different.iter().enumerate() {
        for other in &different[..at] {
            assert_ne!(ranges(one), ranges(other), "{one} {other}");
        }
    }
}

#[test]
fn lists_of_keys_are_bounded() {
    let list = |count: usize| (0..count).map(|at| format!("'{at}'")).collect::<Vec<_>>().join(",");
    let many = "Too many decomposed read operations for a given query.";
    check(&[
        (&format!("pk IN [{}]", list(51)), many),
        (&format!("pk IN [{}] AND sk IN [{}]", list(26), list(2)), many),
        (&format!("x IN [{}]", list(100)), "scan >"),
    ]);
    for fits in [
        format!("pk IN [{}]", list(50)),
        format!("pk IN [{}] AND sk IN [{}]", list(25), list(2)),
        format!("pk IN [{}] OR pk IN ['x', 'y']", list(48)),
        (0..50)
            .map(|at| format!("pk = '{at}'"))
            .collect::<Vec<_>>()
            .join(" OR "),
    ] {
        let read = reads(&fits);
        assert_eq!(read.split(' ').count(), 51, "{fits}: {read}");
    }
    check(&[
        (&format!("pk IN [{}] OR pk IN ['x', 'y']", list(49)), many),
        (&format!("pk IN [{}] AND sk IN [{}]", list(17), list(3)), many),
    ]);
    let wide = vec!["(sk = 'a' OR x = 1)"; 20].join(" AND ");
    check(&[(&wide, "scan >"), (&format!("pk = 'a' AND {wide}"), many)]);
}

#[test]
fn keys_are_of_their_types() {
    check(&[
        ("pk = 1", &format!("{TYPE}pk")),
        ("pk IN ['a', 1]", &format!("{TYPE}pk")),
        ("pk = 'a' AND sk > 1", &format!("{TYPE}sk")),
        ("pk = 'a' AND sk BETWEEN 1 AND 2", &format!("{TYPE}sk")),
        ("pk = 'a' AND sk IN ['1', 2]", &format!("{TYPE}sk")),
        ("(pk = 'a' AND sk > 1) OR pk = 2", &format!("{TYPE}sk")),
        ("pk = 2 OR (pk = 'a' AND sk > 1)", &format!("{TYPE}pk")),
        ("sk = 1", "scan >"),
        (
            "pk = null",
            "Key value must be of type S, N, or B. Key name: pk, Key type: NULL",
        ),
        (
            "pk = ''",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        ("pk > 1", "scan >"),
    ]);
}

#[test]
fn orders() {
    check(&[
        ("pk = 'a' ORDER BY sk", "a >"),
        ("pk = 'a' ORDER BY sk DESC", "a <"),
        ("pk = 'a' ORDER BY pk", "a <"),
        ("pk = 'a' ORDER BY pk, sk", "a >"),
        ("pk IN ['b', 'a'] ORDER BY pk", "a b <"),
        ("pk IN ['b', 'a'] ORDER BY pk DESC, sk ASC", "b a >"),
        ("pk IN ['b', 'a'] ORDER BY sk, pk DESC", "b a >"),
        (
            "pk IN ['b', 'a'] ORDER BY sk",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
        (
            "x = 1 ORDER BY pk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "pk = 'a' ORDER BY x",
            "Attribute x in ORDER BY clause must be part of the primary key",
        ),
    ]);
}

fn condition_key(clause: &str, read: bool) -> Result<Option<Map>, String> {
    let statement = format!("SELECT * FROM tab WHERE {clause}");
    let prepared = Prepared::new(&statement, Vec::new(), &StatementCache::new()).unwrap();
    let Statement::Select(select) = prepared.bind().unwrap() else {
        panic!("{statement}")
    };
    if read {
        return Ok(only_key(&schema(), select.condition.as_ref().unwrap()));
    }
    let key = written_key(&schema(), select.condition.as_ref());
    key.map(|(key, _)| Some(key))
        .map_err(|error| error.message().unwrap().to_owned())
}

#[test]
fn the_key_of_one_item() {
    let key: Map = [("pk", "a"), ("sk", "1")]
        .into_iter()
        .map(|(name, value)| (name.into(), AttributeValue::string(value)))
        .collect();
    let missing = Err("Where clause does not contain a mandatory equality on all key attributes".to_owned());
    let several =
        Err("Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported".to_owned());
    let whole = Ok(Some(key));
    for (clause, read, written) in [
        ("pk = 'a' AND sk = '1'", &whole, &whole),
        ("sk = '1' AND ('a' = pk)", &whole, &whole),
        ("pk = 'a' AND sk = '1' AND pk = 'a'", &whole, &whole),
        ("pk = 'a' AND sk = '1' AND x = 1", &Ok(None), &whole),
        ("pk = 'a' AND sk IN ['1']", &whole, &missing),
        ("pk = 'a' AND sk IN ['1', '2']", &Ok(None), &missing),
        ("pk = 'a'", &Ok(None), &missing),
        ("pk = 'a' AND sk > '1'", &Ok(None), &missing),
        ("pk = 'a' AND sk = '1' OR x = 1", &Ok(None), &missing),
        ("pk = 'a' AND pk = 'b' AND sk = '1'", &Ok(None), &several),
        ("pk = 'a' AND sk = '1' AND pk = 'b'", &Ok(None), &several),
        ("pk = 'a' AND pk = 'b' AND sk = '1' AND sk = '2'", &Ok(None), &several),
        ("NOT (pk = 'a' AND sk = '1')", &Ok(None), &missing),
    ] {
        assert_eq!(condition_key(clause, true), *read, "{clause}");
        assert_eq!(condition_key(clause, false), *written, "{clause}");
    }
}

#[test]
fn an_index_is_not_filtered_by_what_it_lacks() {
    let statement = |clause: &str| {
        let prepared = Prepared::new(
            &format!("SELECT * FROM tab.idx WHERE {clause}"),
            Vec::new(),
            &StatementCache::new(),
        )
        .unwrap();
        let Statement::Select(select) = prepared.bind().unwrap() else {
            panic!("{clause}")
        };
        let reads = SelectRanges::plan(&definition(), Some(&index()), &select);
        reads.err().and_then(|error| error.message().map(str::to_owned))
    };
    let lacks = "One or more parameter values were invalid: Secondary index idx does not project one or more filter attributes: [np]";
    let both = |names: &str| {
        format!(
            "One or more parameter values were invalid: Secondary index idx does not project one or more filter attributes: [{names}]"
        )
    };
    for (clause, expect) in [
        ("g = 'a' AND (np = 1 OR mp = 2)", Some(both("np, mp").as_str())),
        ("g = 'a' AND (pk = 'x' OR np = 1)", Some(lacks)),
        (
            "g = 'a' AND np = 1 AND NOT (np = 2 AND mp IN [3])",
            Some(both("np, mp").as_str()),
        ),
        ("g = 'a' AND np IN [1]", Some(lacks)),
        ("g = 'a' AND 1 = np", Some(lacks)),
        ("g = 'a' AND pk = np", Some(lacks)),
        ("g = 'a' AND np = mp", Some(both("np, mp").as_str())),
        ("g = 'a' AND pk BETWEEN 'x' AND np", Some(lacks)),
        ("g = 'a' AND pk IN ['x', g, np]", Some(lacks)),
        ("g = 'a' AND np.x = 1", Some(lacks)),
        ("g = 'a' AND pk.np = 1", None),
        ("g = 'a' AND np = 1", Some(lacks)),
        ("g IN ['a', 'b'] AND np = 1", Some(lacks)),
        ("g = 'a' AND (NOT size(np) > 1 OR pk = 'x')", Some(lacks)),
        ("g = 'a' AND pk = 'x'", None),
        ("np = 1", None),
        ("(g = 'a' AND np = 1) OR g = 'b'", None),
        ("(g = 'a' AND np = 1) OR (g = 'b' AND np = 2)", Some(lacks)),
    ] {
        assert_eq!(statement(clause).as_deref(), expect, "{clause}");
    }
}

#[test]
fn columns_have_their_last_names() {
    let prepared = Prepared::new(
        "SELECT a, m.k, m.l[1], m.l[2][0], m.l[2][1][0], m.\"x y\" FROM tab",
        Vec::new(),
        &StatementCache::new(),
    )
    .unwrap();
    let Statement::Select(select) = prepared.bind().unwrap() else {
        panic!()
    };
    let inner = [
        ("k", AttributeValue::Null),
        (
            "l",
            AttributeValue::L(vec![
                AttributeValue::Null,
                AttributeValue::Bool(true),
                AttributeValue::L(vec![
                    AttributeValue::Null,
                    AttributeValue::L(vec![AttributeValue::Null]),
                ]),
            ]),
        ),
    ];
    let inner: Map = inner.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let item: Map = [("m".into(), AttributeValue::M(inner))].into_iter().collect();
    let shown = select.columns.unwrap().apply(&Item::new(&item));
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["k", "l[1]", "l[2][0]", "l[2][1][0]"]);
}

/// What becomes of a statement: the table, the values, the item of an INSERT and whether a SELECT's condition holds for an
/// item; or what is wrong.
fn meaning(statement: &str, parameters: &[AttributeValue], cache: &StatementCache) -> Result<String, String> {
    let prepared = Prepared::new(statement, parameters.to_vec(), cache);
    let meaning = prepared.and_then(|prepared| {
        let bound = match prepared.bind()? {
            Statement::Insert(item) => format!("{item:?}"),
            Statement::Select(select) => {
                let one: Map = [("a".into(), AttributeValue::N("1".parse().unwrap()))]
                    .into_iter()
                    .collect();
                let condition = select.condition.unwrap();
                format!("{} {:?}", condition.matches(Some(&one)), select.equalities)
            }
            _ => String::new(),
        };
        let values: Vec<&AttributeValue> = prepared.values().collect();
        Ok(format!("{} {values:?} {bound}", prepared.table()))
    });
    meaning.map_err(|error| error.message().unwrap().to_owned())
}

/// Whether a condition holds for an item whose attribute `a` has a value, if any.
fn holds(condition: &str, value: Option<AttributeValue>) -> bool {
    let statement = format!("SELECT * FROM tab WHERE {condition}");
    let prepared = Prepared::new(&statement, Vec::new(), &StatementCache::new()).unwrap();
    let Statement::Select(select) = prepared.bind().unwrap() else {
        panic!("{statement}")
    };
    let item: Map = value.into_iter().map(|value| ("a".into(), value)).collect();
    select.condition.unwrap().matches(Some(&item))
}

#[test]
fn types_are_tested_by_name() {
    use AttributeValue as V;
    let number = || "1".parse().unwrap();
    let values = [
        ("", None),
        ("NULL", Some(V::Null)),
        ("BOOLEAN BOOL", Some(V::Bool(false))),
        ("BLOB", Some(V::B(Box::default()))),
        ("STRING", Some(V::string(""))),
        ("NUMERIC", Some(V::N(number()))),
        ("STRUCT TUPLE", Some(V::M(Map::new()))),
        ("LIST", Some(V::L(vec![]))),
        ("SS", V::string_set(vec!["a".into()])),
        ("NS", V::number_set(vec![number()])),
    ];
    for kind in [
        "NULL", "BOOLEAN", "BOOL", "BLOB", "STRING", "NUMERIC", "STRUCT", "TUPLE", "LIST", "string",
    ] {
        for (names, value) in &values {
            let expect = names.split(' ').any(|name| name.eq_ignore_ascii_case(kind));
            assert_eq!(
                holds(&format!("a IS {kind}"), value.clone()),
                expect,
                "{kind} {value:?}"
            );
            assert_eq!(
                holds(&format!("a IS NOT {kind}"), value.clone()),
                !expect,
                "{kind} {value:?}"
            );
        }
    }
    for (_, value) in values {
        assert_eq!(holds("a IS MISSING", value.clone()), value.is_none(), "{value:?}");
        assert_eq!(holds("a IS NOT MISSING", value.clone()), value.is_some(), "{value:?}");
    }
}

#[test]
fn operators_and_their_negations() {
    let number = |text: &str| Some(AttributeValue::N(text.parse().unwrap()));
    for (condition, of_one, of_two, of_nothing) in [
        ("a = 1", true, false, false),
        ("a <> 1", false, true, true),
        ("a != 1", false, true, true),
        ("a < 2", true, false, false),
        ("a <= 1", true, false, false),
        ("a > 1", false, true, false),
        ("a >= 2", false, true, false),
        ("2 > a", true, false, false),
        ("a BETWEEN 0 AND 1", true, false, false),
        ("a NOT BETWEEN 0 AND 1", false, true, true),
        ("a IN [1, 3]", true, false, false),
        ("a IN (3, 1)", true, false, false),
        ("a IN <<1, 3>>", true, false, false),
        ("a NOT IN [1, 3]", false, true, true),
        ("NOT a = 1", false, true, true),
        ("NOT NOT a = 1", true, false, false),
        ("a = 1 OR a = 2", true, true, false),
        ("a = 1 AND a = 2", false, false, false),
        ("a = 1 OR a = 2 AND a = 3", true, false, false),
        ("(a = 1 OR a = 2) AND a = 2", false, true, false),
        ("NOT a = 1 AND a = 2", false, true, false),
        ("a = - - 1", true, false, false),
        ("a = -1", false, false, false),
        ("a = +1", true, false, false),
    ] {
        let found = [number("1"), number("2"), None].map(|value| holds(condition, value));
        assert_eq!(found, [of_one, of_two, of_nothing], "{condition}");
    }
}

/// A constant other than `true` and `false` differs from every condition.
#[test]
fn conditions_are_compared_with_constants() {
    for (clause, expect) in [
        ("(a = 1) = true", true),
        ("(a = 2) = true", false),
        ("true = (a = 1)", true),
        ("false = (a = 1)", false),
        ("(a = 1) = false", false),
        ("(a = 2) = false", true),
        ("(a = 1) <> true", false),
        ("(a = 2) <> true", true),
        ("(a = 1) <> false", true),
        ("(a = 2) <> false", false),
        ("(a = 1) = 5", false),
        ("(a = 2) = 5", false),
        ("(a = 1) <> 5", true),
        ("(a = 2) <> 5", true),
        ("null <> (a = 2)", true),
    ] {
        let meaning = meaning(
            &format!("SELECT * FROM tab WHERE {clause}"),
            &[],
            &StatementCache::new(),
        )
        .unwrap();
        assert!(meaning.contains(&format!("] {expect} [")), "{clause}: {meaning}");
    }
}

#[test]
fn a_cached_statement_means_what_it_means_when_it_is_parsed() {
    let deep = |levels: usize| (0..levels).fold(AttributeValue::Null, |inner, _| AttributeValue::L(vec![inner]));
    let set = AttributeValue::string_set(vec!["x".into()]).unwrap();
    let values = [
        AttributeValue::N("1".parse().unwrap()),
        AttributeValue::string("a"),
        AttributeValue::Bool(true),
        AttributeValue::Bool(false),
        AttributeValue::Null,
        set,
        deep(31),
        deep(32),
        deep(40),
    ];
    let mut parameters = vec![Vec::new()];
    for first in &values {
        parameters.push(vec![first.clone()]);
        parameters.extend(values.iter().map(|second| vec![first.clone(), second.clone()]));
    }
    let cache = StatementCache::new();
    for statement in [
        "SELECT * FROM tab WHERE a = ? AND b = 2",
        "SELECT * FROM tab WHERE ? = a AND b = ?",
        "SELECT * FROM tab WHERE a < ?",
        "SELECT * FROM tab WHERE begins_with(a, ?)",
        "SELECT * FROM tab WHERE a BETWEEN ? AND ?",
        "SELECT * FROM tab WHERE a IN [?, ?]",
        "SELECT * FROM tab WHERE attribute_type(a, ?)",
        "SELECT * FROM tab WHERE (a = 1) = ?",
        "INSERT INTO tab VALUE {'b': ?, 'a': ?, 'c': [1, {'d': 'e'}]}",
        "INSERT INTO tab VALUE {'b': ?, 'b': ?}",
        "UPDATE tab SET a = ? SET b = a + ? WHERE pk = 'a'",
        "UPDATE tab SET a = set_add(a, ?) WHERE pk = ?",
        "UPDATE tab SET a = list_append(a, ?) WHERE pk = ?",
        "DELETE FROM tab WHERE pk = ? AND size(a) > ?",
    ] {
        for parameters in parameters.iter().chain(parameters.iter().rev()) {
            assert_eq!(
                meaning(statement, parameters, &cache),
                meaning(statement, parameters, &StatementCache::new()),
                "{statement} {parameters:?}"
            );
        }
    }
}
