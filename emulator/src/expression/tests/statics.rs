//! The error texts of the static checks, and which of two errors is reported.

use super::super::ExpressionKind::*;
use super::super::*;
use super::{check, error_of, message, value};
use crate::request::Substitutions;
use crate::value::Name;

const UNDEFINED_U: &str = "An expression attribute value used in expression is not defined; attribute value: :u";
const UNDEFINED_NAME_U: &str =
    "An expression attribute name used in the document path is not defined; attribute name: #u";
const RESERVED: &str = "Attribute name is a reserved keyword; reserved keyword: status";
const UNKNOWN_FOO: &str = "Invalid function name; function: foo";

fn operand_type(operator: &str, kind: &str) -> String {
    format!("Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}")
}

fn this_way(function: &str) -> String {
    format!("The function is not allowed to be used this way in an expression; function: {function}")
}

fn distinct(operator: &str, first: &str) -> String {
    format!(
        "The first operand must be distinct from the remaining operands for this operator or function; operator: {operator}, first operand: {first}"
    )
}

fn operands(function: &str, count: usize) -> String {
    format!(
        "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
    )
}

fn path(function: &str) -> String {
    format!("Operator or function requires a document path; operator or function: {function}")
}

#[test]
fn functions_and_words() {
    let word = |word: &str| format!("Attribute name is a reserved keyword; reserved keyword: {word}");
    let condition = |name: &str| format!("The function is not allowed in a condition expression; function: {name}");
    for kind in [Condition, Filter, KeyCondition] {
        check(
            kind,
            &[
                ("foo(a)", UNKNOWN_FOO),
                (
                    "Attribute_Exists(a)",
                    "Invalid function name; function: Attribute_Exists",
                ),
                ("if_not_exists(a,b) = :v", &condition("if_not_exists")),
                ("a = list_append(size(:n), :v)", &condition("list_append")),
                ("attribute_exists(a) = :v", &this_way("attribute_exists")),
                ("size(a)", &this_way("size")),
                ("(size(a))", &this_way("size")),
                ("a = :v OR size(b)", &this_way("size")),
                ("size(contains(a,:v)) = :n", &this_way("contains")),
                ("a IN (attribute_exists(b))", &this_way("attribute_exists")),
                ("foo(bar(a))", UNKNOWN_FOO),
                ("size(a) OR foo(b)", &this_way("size")),
                ("foo(a) = status", UNKNOWN_FOO),
                ("status = foo(a)", RESERVED),
                ("a.b.Status = :v", &word("Status")),
                ("a = true", &word("true")),
                ("size = :n", &word("size")),
                (
                    "a[99999999999] = status",
                    "List index is not within the allowable range; index: [99999999999]",
                ),
                ("#u = status", RESERVED),
            ],
        );
    }
    let update = |name: &str| format!("The function is not allowed in an update expression; function: {name}");
    check(
        Update,
        &[
            ("SET status = foo(b)", RESERVED),
            ("SET a = foo(b), c = status", UNKNOWN_FOO),
            ("SET a = size(foo(b))", &update("size")),
            ("SET a = foo(size(b))", UNKNOWN_FOO),
            ("SET a = :n SET b = status", RESERVED),
            ("SET a = #u SET b = status", RESERVED),
            ("SET a = list_append(list_append(a,b),c)", &this_way("list_append")),
            ("SET a = if_not_exists(a, list_append(b,c))", &this_way("list_append")),
            ("SET a = b + list_append(c,d)", &this_way("list_append")),
            ("SET a = list_append(c,d) + b", &this_way("list_append")),
            (
                "SET a = :n REMOVE b SET c = :u",
                "The \"SET\" section can only be used once in an update expression;",
            ),
            // The first of several repeated sections is named.
            (
                "REMOVE a SET b = :n SET c = :n REMOVE d",
                "The \"SET\" section can only be used once in an update expression;",
            ),
            (
                "REMOVE a SET b = :n REMOVE d SET c = :n",
                "The \"REMOVE\" section can only be used once in an update expression;",
            ),
            (
                "REMOVE a SET b = :n SET c = :n REMOVE d",
                "The \"SET\" section can only be used once in an update expression;",
            ),
            (
                "SET b = :n REMOVE a REMOVE d SET c = :n",
                "The \"REMOVE\" section can only be used once in an update expression;",
            ),
            (
                "add a :n ADD b :n",
                "The \"ADD\" section can only be used once in an update expression;",
            ),
        ],
    );
    check(
        Projection,
        &[
            ("a, status", RESERVED),
            ("#u, status", RESERVED),
            ("SELECT", &word("SELECT")),
        ],
    );
}

#[test]
fn operands_of_conditions() {
    check(
        Filter,
        &[
            ("attribute_exists(#u, :u)", UNDEFINED_NAME_U),
            ("a = :v AND (:u = b OR #u = c)", UNDEFINED_U),
            (":u = size(:n)", UNDEFINED_U),
            ("size(:n) = :u", &operand_type("size", "N")),
            ("begins_with(a)", &operands("begins_with", 1)),
            ("begins_with(:u)", UNDEFINED_U),
            ("attribute_exists(:v,:v)", &operands("attribute_exists", 2)),
            ("size(a,b) = :n", &operands("size", 2)),
            ("attribute_exists(:v)", &path("attribute_exists")),
            ("attribute_not_exists(size(a))", &path("attribute_not_exists")),
            ("begins_with(a, :n)", &operand_type("begins_with", "N")),
            ("begins_with(:b, :n)", &operand_type("begins_with", "BOOL")),
            ("begins_with(a, size(b))", &operand_type("begins_with", "N")),
            ("begins_with(a, :bin)", ""),
            ("attribute_type(a, :n)", &operand_type("attribute_type", "N")),
            (
                "attribute_type(a, b)",
                &operand_type("attribute_type", "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}"),
            ),
            (
                "attribute_type(a, :dog)",
                "Invalid attribute type name found; type: DOG, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}",
            ),
            ("attribute_type(a, :t)", ""),
            ("size(:b) = :n", &operand_type("size", "BOOL")),
            ("size(:nul) = :n", &operand_type("size", "NULL")),
            ("size(size(a)) = :n", &operand_type("size", "N")),
            ("size(:ss) = size(:l)", ""),
            ("a < :ss", &operand_type("<", "SS")),
            ("a <= :ns", &operand_type("<=", "NS")),
            (":bs > a", &operand_type(">", "BS")),
            ("a >= :l", &operand_type(">=", "L")),
            ("a < :mm", &operand_type("<", "M")),
            ("a < :b", &operand_type("<", "BOOL")),
            ("a BETWEEN a AND :nul", &operand_type("BETWEEN", "NULL")),
            ("a = :b AND a <> :l", ""),
            ("a IN (:b, :l, :ss, :n)", ""),
            ("contains(a, :l) AND contains(:n, a)", ""),
            ("#a = a", &distinct("=", "[a]")),
            ("a.b[0] <> #a.#b[0]", &distinct("<>", "[a, b, [0]]")),
            ("a IN (b, a)", &distinct("IN", "[a]")),
            ("a BETWEEN b AND a", &distinct("BETWEEN", "[a]")),
            ("begins_with(a, a)", &distinct("begins_with", "[a]")),
            ("contains(a, a)", &distinct("contains", "[a]")),
            ("attribute_type(a, a)", &distinct("attribute_type", "[a]")),
            (":v = :v AND contains(:v, :v) AND a BETWEEN b AND b", ""),
            ("size(a) = size(a) AND size(a) = a", ""),
            ("#dot = a.b", ""),
        ],
    );
}

#[test]
fn bounds_of_between() {
    const TYPES: &str = "The BETWEEN operator requires same data type for lower and upper bounds; ";
    const ORDER: &str = "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; ";
    let bounds = |text: &str, lower: &str, upper: &str| {
        format!("{text}lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}")
    };
    for kind in [Condition, KeyCondition] {
        check(
            kind,
            &[
                ("a BETWEEN :m AND :v", &bounds(TYPES, "{N:2}", "{S:x}")),
                ("a BETWEEN :m AND :n", &bounds(ORDER, "{N:2}", "{N:1}")),
                ("a BETWEEN :w AND :v", &bounds(ORDER, "{S:z}", "{S:x}")),
                ("a BETWEEN :bin AND :bin2", &bounds(ORDER, "{B:YWI=}", "{B:YQ==}")),
                ("a BETWEEN :n AND :n", ""),
            ],
        );
    }
    check(
        Condition,
        &[("a BETWEEN :m AND b", ""), ("a BETWEEN :m AND size(b)", "")],
    );
}

/// Which types of constants each operator and function takes.
#[test]
fn operators_take_constants_of_their_types() {
    const ALL: &str = "S N B BOOL NULL L M SS NS BS";
    for (kind, text, fits) in [
        (Filter, "a = :x", ALL),
        (Filter, ":x <> a", ALL),
        (Filter, "a IN (b, :x)", ALL),
        (Filter, "contains(a, :x)", ALL),
        (Filter, "a < :x", "S N B"),
        (Filter, ":x <= a", "S N B"),
        (Filter, "a > :x", "S N B"),
        (Filter, "a >= :x", "S N B"),
        (Filter, "a BETWEEN :x AND b", "S N B"),
        (Filter, "a BETWEEN b AND :x", "S N B"),
        (Filter, ":x BETWEEN a AND b", "S N B"),
        (Filter, "begins_with(a, :x)", "S B"),
        (Filter, "begins_with(:x, a)", "S B"),
        (Filter, "size(:x) > a", "S B L M SS NS BS"),
        (Filter, "attribute_type(a, :x)", "S"),
        (Update, "SET a = :x", ALL),
        (Update, "SET a = if_not_exists(b, :x)", ALL),
        (Update, "SET a = b + :x", "N"),
        (Update, "SET a = :x - b", "N"),
        (Update, "SET a = list_append(b, :x)", "L"),
        (Update, "SET a = list_append(:x, b)", "L"),
        (Update, "ADD a :x", "N SS NS BS"),
        (Update, "DELETE a :x", "SS NS BS"),
    ] {
        for argument in ["'S", "1", "B|a", "true", "null", "L|1", "M|a=1", "SS|a", "NS|1", "BS|a"] {
            let argument = value(argument);
            let name = argument.kind().name();
            let substitutions = Substitutions {
                names: None,
                values: Some(vec![(Name::new(":x"), argument)]),
            };
            let cache = Cache::new();
            let mut scope = Bindings::new(&substitutions, &cache).unwrap();
            let error = match kind {
                Update => scope.update(text).err(),
                _ => scope.condition(kind, text).err(),
            };
            let found = error.map(message).unwrap_or_default();
            if fits.split(' ').any(|fit| fit == name) {
                assert_eq!(found, "", "{text} {name}");
            } else {
                let names_it = found.ends_with(&format!("operand type: {name}"))
                    || text.starts_with(['A', 'D']) && found.contains("typeSet: ALLOWED_FOR_");
                assert!(names_it, "{text} {name}: {found}");
            }
        }
    }
}

#[test]
fn operands_of_updates() {
    let section = |section: &str, word: &str| {
        format!(
            "Incorrect operand type for operator or function; operator: {section}, operand type: {word}, typeSet: ALLOWED_FOR_{section}_OPERAND"
        )
    };
    check(
        Update,
        &[
            ("SET a = :v + :n", &operand_type("+", "S")),
            ("SET a = :n - :l", &operand_type("-", "L")),
            ("SET a = list_append(:v, b)", &operand_type("list_append", "S")),
            ("SET a = list_append(b, :ss)", &operand_type("list_append", "SS")),
            ("SET a = if_not_exists(:n, c)", &path("if_not_exists")),
            ("SET a = if_not_exists(if_not_exists(a,b), c)", &path("if_not_exists")),
            ("SET a = if_not_exists(a)", &operands("if_not_exists", 1)),
            ("SET a = list_append(:n)", &operands("list_append", 1)),
            ("SET a = if_not_exists(b,b)", &distinct("if_not_exists", "[b]")),
            ("SET a = list_append(a,a), b = c + c", ""),
            ("SET b = if_not_exists(:n) ADD a :v", &section("ADD", "STRING")),
            ("ADD a :bin", &section("ADD", "BINARY")),
            ("ADD a :b", &section("ADD", "BOOLEAN")),
            ("ADD a :nul", &section("ADD", "NULL")),
            ("ADD a :l", &section("ADD", "LIST")),
            ("ADD a :mm", &section("ADD", "MAP")),
            ("DELETE a :n", &section("DELETE", "NUMBER")),
            ("ADD a :n, b :ss, c :ns DELETE d :bs", ""),
            ("SET #u = :u", UNDEFINED_NAME_U),
            ("SET a = :u", UNDEFINED_U),
            ("SET a = :n, a = :u", UNDEFINED_U),
        ],
    );
}

#[test]
fn overlap_and_conflict() {
    let text = |what: &str, one: &str, two: &str| {
        format!(
            "Two document paths {what} with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
        )
    };
    check(
        Projection,
        &[
            ("a, a", &text("overlap", "[a]", "[a]")),
            ("#a, a", &text("overlap", "[a]", "[a]")),
            ("a.b, a", &text("overlap", "[a, b]", "[a]")),
            ("a, b, a.b", &text("overlap", "[a]", "[a, b]")),
            ("a.b, a[0]", &text("conflict", "[a, b]", "[a, [0]]")),
            ("a[0].c, b, a.b", &text("conflict", "[a, [0], c]", "[a, b]")),
            ("a.b, a[0], c, c", &text("overlap", "[c]", "[c]")),
            ("a, b, a.c, b.d", &text("overlap", "[b]", "[b, d]")),
            ("a.c, b.d, a, b", &text("overlap", "[b, d]", "[b]")),
            ("a.b.c, a.b[0], a.b", &text("overlap", "[a, b, [0]]", "[a, b]")),
            ("a.b, a.c, l[0], l[1], #dot, b", ""),
        ],
    );
    check(
        Update,
        &[
            ("SET a = :n, a.b = :n", &text("overlap", "[a]", "[a, b]")),
            ("SET a.b = :n REMOVE a[0]", &text("conflict", "[a, b]", "[a, [0]]")),
            ("DELETE a.b :ss, a :ss", &text("overlap", "[a, b]", "[a]")),
            ("SET a = :v + :n, b = :n REMOVE b", &text("overlap", "[b]", "[b]")),
            ("ADD a :v, a :n", &text("overlap", "[a]", "[a]")),
            ("SET a.b = a[0], a.c = a", ""),
        ],
    );
}

#[test]
fn key_conditions() {
    let operator = |name: &str| format!("Invalid operator used in KeyConditionExpression: {name}");
    let clause = |text: &str| format!("Invalid condition in KeyConditionExpression: {text}");
    let invalid = |text: &str| format!("Invalid KeyConditionExpression: {text}");
    let names = clause("Multiple attribute names used in one condition");
    let nested = invalid("KeyConditionExpressions cannot contain nested operations");
    let first = |name: &str| {
        clause(&format!(
            "{name} operator must have the key attribute as its first operand"
        ))
    };
    for (text, expected) in [
        ("pk = :v OR sk = :n", operator("OR")),
        (":v = :v OR pk = :v", operator("OR")),
        ("NOT pk = :v", operator("NOT")),
        ("pk = :v AND sk <> :v", operator("<>")),
        ("pk = :v AND sk IN (:v)", operator("IN")),
        ("contains(a.b, :v)", operator("contains")),
        ("attribute_exists(pk)", operator("attribute_exists")),
        ("size(pk) <> :n", operator("<>")),
        ("pk = sk AND NOT sk = :v", names.clone()),
        ("begins_with(sk, pk)", names.clone()),
        ("pk BETWEEN sk AND :v", names),
        (":v = :v", clause("No key attribute specified")),
        ("begins_with(:v, sk)", first("begins_with")),
        (":v BETWEEN pk AND :w", first("BETWEEN")),
        ("size(sk) = :n", nested.clone()),
        ("sk BETWEEN :n AND size(b)", nested),
        (
            "pk.a = :v",
            invalid("KeyConditionExpressions cannot have conditions on nested attributes"),
        ),
        (
            "pk[0] = :v",
            invalid("KeyConditionExpressions cannot have conditions on nested attributes"),
        ),
        (
            "pk = :v AND #a = :v AND a = :v",
            invalid("KeyConditionExpressions must only contain one condition per key"),
        ),
        (
            "pk = :v AND b = :v AND pk = :w",
            invalid("KeyConditionExpressions must only contain one condition per key"),
        ),
        (
            "pk = :v AND #a = :v AND b = :v AND a > :w",
            invalid("KeyConditionExpressions must only contain one condition per key"),
        ),
        ("pk = :v AND sk = :u", invalid(UNDEFINED_U)),
        ("begins_with(sk, :n)", invalid(&operand_type("begins_with", "N"))),
        (":b < sk", invalid(&operand_type("<", "BOOL"))),
        ("pk = sk AND a < :b", invalid(&operand_type("<", "BOOL"))),
    ] {
        assert_eq!(error_of(KeyCondition, text), Some(expected), "{text}");
    }
}

#[test]
fn clauses_of_key_conditions() {
    let (x, one, two) = (value("'x"), value("1"), value("2"));
    let check = |text: &str, expected: &[(&str, KeyOperator<'_>)]| {
        let (cache, substitutions) = (Cache::new(), super::substitutions(text));
        let condition = Bindings::new(&substitutions, &cache)
            .unwrap()
            .key_condition(text)
            .unwrap();
        let clauses: Vec<_> = condition
            .clauses
            .iter()
            .map(|clause| (clause.name.as_str(), clause.operator))
            .collect();
        assert_eq!(clauses, expected, "{text}");
    };
    check("pk = :v", &[("pk", KeyOperator::Eq(&x))]);
    check(
        "(#s = :v) AND (begins_with(sk, :v))",
        &[("status", KeyOperator::Eq(&x)), ("sk", KeyOperator::BeginsWith(&x))],
    );
    check(
        "(:n <= sk AND :v = pk)",
        &[("sk", KeyOperator::Ge(&one)), ("pk", KeyOperator::Eq(&x))],
    );
    check(
        ":n < sk AND a > :n",
        &[("sk", KeyOperator::Gt(&one)), ("a", KeyOperator::Gt(&one))],
    );
    check(
        ":n > sk AND a < :n AND b <= :n",
        &[
            ("sk", KeyOperator::Lt(&one)),
            ("a", KeyOperator::Lt(&one)),
            ("b", KeyOperator::Le(&one)),
        ],
    );
    check("sk BETWEEN :n AND :m", &[("sk", KeyOperator::Between(&one, &two))]);
}

#[test]
fn substitutions() {
    let check = |names: &[(&str, &str)], values: &[&str], expected: &str| {
        let substitutions = Substitutions {
            names: Some(
                names
                    .iter()
                    .map(|(key, name)| ((*key).into(), (*name).into()))
                    .collect(),
            ),
            values: Some(values.iter().map(|key| ((*key).into(), value("1"))).collect()),
        };
        let cache = Cache::new();
        let used = Bindings::new(&substitutions, &cache).and_then(|mut scope| {
            scope.condition(Condition, "#a = :v")?;
            scope.projection("#b")?;
            scope.check_all_used()
        });
        assert_eq!(used.err().map(message).unwrap_or_default(), expected);
    };
    let long = "a".repeat(255);
    let (name, placeholder) = (format!("#{long}"), format!(":{long}"));
    let huge = "n".repeat(65_536);
    const NAMES: &str = "ExpressionAttributeNames contains invalid";
    check(&[], &[":v"], "ExpressionAttributeNames must not be empty");
    check(&[("#a", "a")], &[], "ExpressionAttributeValues must not be empty");
    check(&[("a", "a")], &[], &format!("{NAMES} key: Syntax error; key: \"a\""));
    check(
        &[("#", "a")],
        &[":v"],
        &format!("{NAMES} key: Syntax error; key: \"#\""),
    );
    check(
        &[("#a", "a")],
        &["v"],
        "ExpressionAttributeValues contains invalid key: Syntax error; key: \"v\"",
    );
    check(
        &[("#a-b", "a")],
        &[":v"],
        &format!("{NAMES} key: Syntax error; key: \"#a-b\""),
    );
    check(
        &[("#a", "")],
        &[":v"],
        &format!("{NAMES} value: Empty attribute name for key #a"),
    );
    check(
        &[("#a", &huge)],
        &[":v"],
        &format!("{NAMES} value: Attribute name is too large, must be less than 65536 bytes for key #a"),
    );
    check(
        &[(&name, "a")],
        &[":v"],
        &format!("{NAMES} key: The expression attribute map contains a key that is too long; size of key: 256"),
    );
    check(
        &[("#a", "a")],
        &[&placeholder],
        "ExpressionAttributeValues contains invalid key: The expression attribute map contains a key that is too long;",
    );
    check(&[("#a", "a"), ("#b", "b")], &[":v"], "");
    check(
        &[("#a", "a"), ("#b", "b"), ("#c", "c"), ("#d", "d")],
        &[":v", ":w"],
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#c, #d}",
    );
    check(
        &[("#a", "a"), ("#b", "b")],
        &[":v", ":w"],
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
    );
    // As DynamoDB Local prints them: in the order of their hashes in 16 buckets, or more for more keys.
    check(
        &[("#a", "a"), ("#b", "b")],
        &[":v", ":n", ":m", ":zz", ":ab"],
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:m, :n, :zz, :ab}",
    );
    check(
        &[("#a", "a"), ("#b", "b")],
        &[
            ":v", ":one", ":two", ":three", ":four", ":five", ":six", ":seven", ":eight", ":nine", ":ten", ":eleven",
        ],
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:four, :three, :nine, :eight, :five, :two, :seven, :one, :six, :ten, :eleven}",
    );
    check(
        &[("#a", "a"), ("#b", "b")],
        &[
            ":v", ":one", ":two", ":three", ":four", ":five", ":six", ":seven", ":eight", ":nine", ":ten", ":eleven",
            ":twelve",
        ],
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:four, :three, :nine, :twelve, :eight, :five, :two, :seven, :one, :six, :ten, :eleven}",
    );
    // 31 keys have 64 buckets.
    let numbered: Vec<String> = (0..30).map(|number| format!(":n{number}")).collect();
    let all: Vec<&str> = std::iter::once(":v")
        .chain(numbered.iter().map(String::as_str))
        .collect();
    check(
        &[("#a", "a"), ("#b", "b")],
        &all,
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:n4, :n19, :n5, :n6, :n7, :n8, :n15, :n9, :n16, :n17, :n18, :n11, :n12, :n13, :n14, :n10, :n26, :n27, :n28, :n29, :n22, :n23, :n24, :n25, :n20, :n21, :n0, :n1, :n2, :n3}",
    );
}

/// Placeholders, names and values may have two megabytes together.
#[test]
fn substitutions_have_a_largest_size() {
    const LIMIT: usize = 2 * 1024 * 1024;
    // Pairs of this many bytes, whose keys have three.
    let pairs = |prefix: char, mut total: usize| {
        let mut pairs: Vec<(Name, String)> = Vec::new();
        while total > 0 {
            let size = if total > 50_100 { 50_000 } else { total };
            pairs.push((Name::from(format!("{prefix}{:02}", pairs.len())), "x".repeat(size - 3)));
            total -= size;
        }
        (!pairs.is_empty()).then_some(pairs)
    };
    let combined = "Combined size of ExpressionAttributeNames and ExpressionAttributeValues";
    for (names, values, numbers, expect) in [
        (LIMIT, 0, 0, ""),
        (LIMIT + 1, 0, 0, "ExpressionAttributeNames"),
        (LIMIT + 1, LIMIT + 1, 0, "ExpressionAttributeNames"),
        (0, LIMIT, 0, ""),
        (0, LIMIT + 1, 0, "ExpressionAttributeValues"),
        (1000, LIMIT + 1, 0, "ExpressionAttributeValues"),
        (1000, LIMIT - 1000, 0, ""),
        (1000, LIMIT - 999, 0, combined),
        (LIMIT, 100, 0, combined),
        // A number counts for its digits: with its key, each of these has five bytes.
        (0, LIMIT - 50, 10, ""),
        (0, LIMIT - 49, 10, "ExpressionAttributeValues"),
        (1000, LIMIT - 1050, 10, ""),
        (1000, LIMIT - 1049, 10, combined),
    ] {
        let names = pairs('#', names);
        let names = names.map(|pairs| pairs.into_iter().map(|(key, name)| (key, Name::from(name))).collect());
        let strings = pairs(':', values).into_iter().flatten();
        let strings = strings.map(|(key, text)| (key, value(&format!("'{text}"))));
        let numbers = (0..numbers).map(|at| (Name::from(format!(":n{at}")), value("1")));
        let values: Vec<_> = strings.chain(numbers).collect();
        let substitutions = Substitutions {
            names,
            values: (!values.is_empty()).then_some(values),
        };
        let cache = Cache::new();
        let found = Bindings::new(&substitutions, &cache)
            .err()
            .map(message)
            .unwrap_or_default();
        assert_eq!(found.strip_suffix(" exceeds max size").unwrap_or(&found), expect);
    }
}

#[test]
fn the_number_of_placeholders_is_unlimited() {
    for count in [1, 8, 9, 40] {
        let aliases: Vec<Name> = (0..count).map(|at| Name::new(format!("#n{at}"))).collect();
        let names = aliases.iter().map(|alias| (alias.clone(), Name::new(&alias[1..])));
        let substitutions = Substitutions {
            names: Some(names.collect()),
            values: None,
        };
        let cache = Cache::new();
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let projection = scope.projection(&aliases.join(", ")).unwrap();
        assert_eq!(projection.top_level_names().count(), count);
        assert!(scope.check_all_used().is_ok());
    }
}

#[test]
fn a_text_that_has_passed_is_checked_again_with_other_names_and_types() {
    let cache = Cache::new();
    let passes = |kind, text: &str, names: &str, values: &str| {
        let pairs = |list: &str| -> Vec<(Name, Name)> {
            let pairs = list.split_whitespace().map(|pair| pair.split_once('=').unwrap());
            pairs.map(|(key, text)| (key.into(), text.into())).collect()
        };
        let values = pairs(values).into_iter().map(|(key, text)| (key, value(&text)));
        let (names, values) = (pairs(names), values.collect::<Vec<_>>());
        let substitutions = Substitutions {
            names: (!names.is_empty()).then_some(names),
            values: (!values.is_empty()).then_some(values),
        };
        let mut bindings = Bindings::new(&substitutions, &cache).unwrap();
        match kind {
            Update => bindings.update(text).is_ok(),
            kind => bindings.condition(kind, text).is_ok(),
        }
    };
    for (kind, text, bindings) in [
        (
            Update,
            "SET #a = a + :v, b = :w",
            vec![
                ("#a=c", ":v=1 :w='x", true),
                ("#a=c", ":v=2 :w='y", true),
                ("#a=d", ":v=1 :w='x", true),
                ("#a=b", ":v=1 :w='x", false),
                ("#a=c", ":v='x :w='x", false),
                ("", ":v=1 :w='x", false),
                ("#a=c", ":v=1", false),
                ("#a=c", ":v=1 :w='x", true),
            ],
        ),
        (
            Condition,
            "contains(#a, #b)",
            vec![("#a=a #b=b", "", true), ("#a=a #b=a", "", false)],
        ),
        (
            Condition,
            "a BETWEEN :v AND :w",
            vec![("", ":v=1 :w=2", true), ("", ":v=2 :w=1", false)],
        ),
        (
            Condition,
            "attribute_type(a, :v)",
            vec![("", ":v='S", true), ("", ":v='X", false)],
        ),
    ] {
        for (names, values, expected) in bindings {
            assert_eq!(passes(kind, text, names, values), expected, "{text} {names} {values}");
        }
    }
}

#[test]
fn the_attributes_of_a_cached_text_are_those_of_its_names() {
    let cache = Cache::new();
    let long = "n".repeat(40);
    // Those of which only the existence is read are followed by a question mark.
    let used = |kind, text: &str, alias: &str| {
        let substitutions = Substitutions {
            names: Some(vec![("#a".into(), alias.into())]),
            values: text.contains(":v").then(|| vec![(":v".into(), value("1"))]),
        };
        let mut bindings = Bindings::new(&substitutions, &cache).unwrap();
        let (update, condition);
        let mut names = AttributeNames::new();
        if kind == Update {
            update = bindings.update(text).unwrap();
            update.add_names(&mut names);
        } else {
            condition = bindings.condition(kind, text).unwrap();
            condition.add_names(&mut names);
        }
        let shown = |(at, name): (usize, &&str)| format!("{name}{}", if names.is_read(at) { "" } else { "?" });
        names.iter().enumerate().map(shown).collect::<Vec<_>>().join(" ")
    };
    let many = (0..9).map(|at| format!("c{at} = :v")).collect::<Vec<_>>().join(" AND ");
    for (kind, text, by_alias) in [
        (
            Update,
            "SET #a = if_not_exists(z, :v), y = x REMOVE b.c",
            vec![
                ("d", "b d x y z"),
                ("w", "b w x y z"),
                (&long, "b LONG x y z"),
                ("d", "b d x y z"),
            ],
        ),
        (
            Condition,
            "attribute_exists(#a) AND attribute_not_exists(a.b) AND e = :v",
            vec![("d", "a d? e"), ("f", "a e f?"), ("e", "a e"), ("d", "a d? e")],
        ),
        (
            Condition,
            &format!("attribute_exists(#a) AND {many}"),
            vec![
                ("d", "c0 c1 c2 c3 c4 c5 c6 c7 c8 d?"),
                ("b", "b? c0 c1 c2 c3 c4 c5 c6 c7 c8"),
            ],
        ),
    ] {
        for (alias, expected) in by_alias {
            let expected = expected.replace("LONG", &long);
            assert_eq!(used(kind, text, alias), expected, "{text} {alias}");
        }
    }
}
