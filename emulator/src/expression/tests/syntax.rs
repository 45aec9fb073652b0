//! Syntax errors with their echoed excerpt, token by token, and the limits of texts.

use super::super::ExpressionKind::{self, *};
use super::{check, error_of};

/// Rows of an expression, the token at error_of, and the echoed excerpt.
fn near(kind: ExpressionKind, table: &[(&str, &str, &str)]) {
    for (text, token, near) in table {
        let expected = format!(
            "Invalid {}: Syntax error; token: \"{token}\", near: \"{near}\"",
            kind.name()
        );
        assert_eq!(error_of(kind, text), Some(expected), "{text}");
    }
}

#[test]
fn updates() {
    near(
        Update,
        &[
            ("SET", "<EOF>", "SET"),
            ("SET a", "<EOF>", "a"),
            ("ADD a", "<EOF>", "a"),
            ("REMOVE a,", "<EOF>", ","),
            ("SET = :v", "=", "SET = :v"),
            ("SET a = :v b = :v", "b", ":v b ="),
            ("SET a = :v, , b = :v", ",", ", , b"),
            ("SET a = :v + :v + :v", "+", ":v + :v"),
            ("SET a = :v - - :v", "-", "- - :v"),
            ("SET a = b * :v", "*", "b * :v"),
            ("SET a = :v WHERE b", "WHERE", ":v WHERE b"),
            ("SET SET = :v", "SET", "SET SET ="),
            ("SET a.b. = :v", "=", ". = :v"),
            ("SET a..b = :v", ".", "..b"),
            ("SET a[x] = :v", "x", "[x]"),
            ("SET a[:v] = :v", ":v", "[:v]"),
            ("SET a[1 = :v", "=", "1 = :v"),
            ("SET a[-1] = :v", "-", "[-1"),
            ("SET a = \"x\"", "\"", "= \"x"),
            ("SET a = :v;", ";", ":v;"),
            ("REMOVE a b", "b", "a b"),
            ("ADD a = :v", "=", "a = :v"),
            ("DELETE a, :v", ",", "a, :v"),
            ("a = :v", "a", "a ="),
            ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
            ("SET _123 = :v", "_", "SET _123"),
            ("SET a.SET = :v", "SET", ".SET ="),
            ("SET a = ", "<EOF>", "= "),
            ("   ", "<EOF>", "   "),
            ("SET a = (b + :n) + :n", "+", ") + :n"),
            ("SET a = (b + (c + :n))", "+", "c + :n"),
            ("SET a = if_not_exists(b, (c + :n))", "+", "c + :n"),
            ("SET a = if_not_exists(b, c + :n)", "+", "c + :n"),
            ("SET a = if_not_exists()", ")", "()"),
            ("SET a = if_not_exists(b,)", ")", ",)"),
            ("SET (a) = :n", "(", "SET (a"),
            ("SET a = (b", "<EOF>", "b"),
            ("SET a = (b + :n", "<EOF>", ":n"),
            ("SET a = (:n))", ")", "))"),
            ("SET foo(a) = :n", "(", "foo(a"),
            ("SET a += :n", "+", "a +="),
            ("ADD a (:n)", "(", "a (:n"),
            ("SET a = 1.5", "1", "= 1."),
        ],
    );
}

#[test]
fn conditions() {
    near(
        Condition,
        &[
            ("a", "<EOF>", "a"),
            ("NOT a", "<EOF>", "a"),
            ("a = = b", "=", "= = b"),
            ("a <> > :v", ">", "<> > :v"),
            ("a = :v OR OR a = :v", "OR", "OR OR a"),
            ("AND a = :v", "AND", "AND a"),
            ("(a = :v", "<EOF>", ":v"),
            ("((a = :v)", "<EOF>", ")"),
            ("(a = :v))", ")", "))"),
            ("a) = :v", ")", "a) ="),
            ("NOT a) = :v", ")", "a) ="),
            ("a IN ()", ")", "()"),
            ("a IN (:v,)", ")", ",)"),
            ("a IN (,:v)", ",", "(,:v"),
            ("a IN :v", ":v", "IN :v"),
            ("a NOT IN (:v)", "NOT", "a NOT IN"),
            ("a LIKE :v", "LIKE", "a LIKE :v"),
            ("a IS NULL", "IS", "a IS NULL"),
            ("a BETWEEN :v, :w", ",", ":v, :w"),
            ("a + :v = :w", "+", "a + :v"),
            ("attribute_exists a", "a", "attribute_exists a"),
            ("attribute_exists()", ")", "()"),
            ("attribute_exists(a,)", ")", ",)"),
            ("begins_with(a :v)", ":v", "a :v)"),
            ("a.[0] = :v", "[", ".[0"),
            ("a[0]] = :v", "]", "]] ="),
            ("a = b c  ", "c", "b c  "),
            ("BETWEEN = :v", "BETWEEN", "BETWEEN ="),
            ("a[00] = :v", "0", "00]"),
            ("a[01] = :v", "1", "01]"),
            ("a != b", "!", "a !="),
            ("a == b", "=", "== b"),
            ("a => b", ">", "=> b"),
            ("a =< b", "<", "=< b"),
            ("a && b", "&", "a &&"),
            ("a = :", ":", "= :"),
            ("# = :v", "#", "# ="),
            ("aé = :v", "é", "aé ="),
            ("a = :v 😀 b", "😀", ":v 😀"),
            ("a-b = :v", "-", "a-b"),
            ("a = 1", "1", "= 1"),
            ("a = 12", "12", "= 12"),
            ("(b.c).d = :v", ".", ").d"),
            ("(a) AND b = c", "AND", ") AND b"),
            ("(a = b) = c", "=", ") = c"),
            ("a AND b", "AND", "a AND b"),
            ("a = (:v, :w)", ",", ":v, :w"),
            ("attribute_exists(a = b)", "=", "a = b"),
            ("attribute_exists(NOT a)", "NOT", "(NOT a"),
            ("size(a) size(b)", "size", ") size("),
            ("#a(b)", "(", "#a(b"),
            (":v.a = :v", ".", ":v.a"),
            ("a[#a] = :v", "#a", "[#a]"),
            ("a.:v = :v", ":v", ".:v ="),
        ],
    );
}

#[test]
fn projections() {
    near(
        Projection,
        &[
            ("a,", "<EOF>", ","),
            ("a,,b", ",", ",,b"),
            (",a", ",", ",a"),
            ("a b", "b", "a b"),
            ("a.", "<EOF>", "."),
            ("a[]", "]", "[]"),
            ("(a)", "(", "(a"),
            ("size(a)", "(", "size(a"),
            (":v", ":v", ":v"),
            ("a + b", "+", "a + b"),
        ],
    );
}

#[test]
fn what_passes() {
    for text in [
        "a [0] = :v AND a . b [ 1 ] . #b = :v",
        "not a = :v and b = :v Or c = :v",
        "a beTween :v AnD :w",
        "a=:v AND(b=:v)",
        "contains = :v AND attribute_exists.a = :v",
        "NOT NOT a = :v",
        "a IN ((:v), (b))",
        "attribute_exists((a))",
        "((a) = (:v))",
        "((a = :v) AND (b = :v))",
        "(NOT (a = :v))",
        "a\t=\r\n:v",
    ] {
        assert_eq!(error_of(Condition, text), None, "{text}");
    }
    for text in [
        "set a = :n remove b Add c :n delete d :ss",
        "SET a = (b) - c",
        "SET a = ((b) + (:n))",
        "SET a = (c - :n)",
        "SET if_not_exists = :n",
        "SET a = (list_append(b, (c)))",
        "SET a = list_append(if_not_exists(a,:l),:l)",
        "SET a = if_not_exists(a, if_not_exists(b, if_not_exists(c, d)))",
    ] {
        assert_eq!(error_of(Update, text), None, "{text}");
    }
}

#[test]
fn redundant_parentheses() {
    const TEXT: &str = "The expression has redundant parentheses;";
    for text in [
        "((a = :v))",
        "(((a = :v) AND b = :v))",
        "((a)) = :v",
        "a = ((:v))",
        "((size(a)))",
        "attribute_exists(((a)))",
        "NOT ((a = :v))",
        "((NOT a = :v))",
        "foo(a) = status AND ((a = b))",
        "a[99999999999] = ((b))",
    ] {
        for kind in [Condition, Filter, KeyCondition] {
            check(kind, &[(text, TEXT)]);
        }
    }
    for text in [
        "SET a = ((b + :n))",
        "SET a = ((c))",
        "SET a = list_append(b, ((c)))",
        "SET a = :n SET b = ((c))",
    ] {
        check(Update, &[(text, TEXT)]);
    }
}

#[test]
fn limits() {
    let long = |length: usize| "a = b OR c = ".to_owned() + &"d".repeat(length - 13);
    let path = |elements: usize| vec!["a"; elements].join(".");
    let count = |operators: usize| vec!["a = :v"; operators.div_ceil(2)].join(" AND ") + " ";
    check(
        Condition,
        &[
            ("", "The expression can not be empty;"),
            (&long(4096), ""),
            (
                &long(4097),
                "Expression size has exceeded the maximum allowed size; expression size: 4097",
            ),
            (
                &"é".repeat(2049),
                "Expression size has exceeded the maximum allowed size; expression size: 4098",
            ),
            (&(path(32) + " = :v"), ""),
            (
                &(path(33) + " = :v"),
                "The document path has too many nesting levels; nesting levels: 33",
            ),
            (
                &(path(31) + "[0][1] = :v"),
                "The document path has too many nesting levels; nesting levels: 33",
            ),
            ("a[2147483647] = :v", ""),
            (
                "a[2147483648] = :v",
                "List index is not within the allowable range; index: [2147483648]",
            ),
            (
                "a[99999999999999] = :v",
                "List index is not within the allowable range; index: [99999999999999]",
            ),
            (&count(299), ""),
            (&("NOT ".to_owned() + &count(299)), ""),
            (
                &("NOT NOT ".to_owned() + &count(299)),
                "The expression contains too many operators; operator count: 301",
            ),
            (
                &count(301),
                "The expression contains too many operators; operator count: 301",
            ),
            (
                &count(401),
                "The expression contains too many operators; operator count: 301",
            ),
            (&format!("a IN ({})", vec!["b"; 100].join(",")), ""),
            (
                &format!("a IN ({})", vec!["b"; 101].join(",")),
                "The IN operator is provided with too many operands; number of operands: 101",
            ),
        ],
    );
    let long = |length: usize| "REMOVE ".to_owned() + &"d".repeat(length - 7);
    let sets: Vec<String> = (0..301).map(|at| format!("a{at}=:n")).collect();
    let sums: Vec<String> = (0..301).map(|at| format!("a{at}=b+c")).collect();
    check(
        Update,
        &[
            ("", "The expression can not be empty;"),
            (&long(4096), ""),
            (&long(4097), "Expression size has exceeded the maximum allowed size;"),
            (&format!("SET {}", sets.join(",")), ""),
            (
                &format!("SET {}", sums.join(",")),
                "The expression contains too many operators; operator count: 301",
            ),
        ],
    );
    check(
        Projection,
        &[
            ("", "The expression can not be empty;"),
            (&"d".repeat(4096), ""),
            (
                &"d".repeat(4097),
                "Expression size has exceeded the maximum allowed size;",
            ),
        ],
    );
}
