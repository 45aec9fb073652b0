//! No text makes the parser panic, hang or overflow the stack.

use proptest::prelude::*;

use crate::partiql::{NextToken, Prepared, StatementCache};
use crate::value::AttributeValue;

/// The words that random statements are made of.
const SOUP: &[&str] = &[
    "SELECT",
    "*",
    "FROM",
    "tab",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "MISSING",
    "NULL",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<",
    ">>",
    "<",
    ">",
    "=",
    "<>",
    "+",
    "-",
    "/",
    "%",
    "||",
    ",",
    ".",
    ":",
    ";",
    "?",
    "'a'",
    "\"b\"",
    "1",
    "1e5",
    "-.5",
    "`x`",
    "a",
    "pk",
    "size",
    "begins_with",
    "set_add",
    "list_append",
    "if_not_exists",
    "UPDATE",
    "SET",
    "REMOVE",
    "DELETE",
    "INSERT",
    "INTO",
    "VALUE",
    "VALUES",
    "RETURNING",
    "ALL",
    "MODIFIED",
    "OLD",
    "NEW",
    "ORDER",
    "BY",
    "DESC",
    "EXISTS",
    "CASE",
    "COUNT",
    "LIMIT",
    "GROUP",
    "JOIN",
    "ON",
    "CONFLICT",
    "DO",
    "AS",
    "@",
    "true",
    "LIKE",
    "STRING",
    "\n",
    "--",
    "/*",
    "*/",
    "é",
];

fn swallow(statement: &str) {
    let parameters = vec![AttributeValue::string("p"), AttributeValue::Null];
    if let Ok(prepared) = Prepared::new(statement, parameters, &StatementCache::new()) {
        let _ = prepared.bind();
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        swallow(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        swallow(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_soup_of_tokens_is_answered(words in proptest::collection::vec(0..SOUP.len(), 0..60)) {
        let words: Vec<&str> = words.iter().map(|at| SOUP[*at]).collect();
        swallow(&words.join(" "));
    }

    #[test]
    fn any_soup_after_a_beginning_is_answered(
        beginning in 0..6usize,
        words in proptest::collection::vec(0..SOUP.len(), 0..30),
    ) {
        let beginning = [
            "SELECT * FROM tab WHERE",
            "SELECT",
            "UPDATE tab SET a =",
            "INSERT INTO tab VALUE {'a':",
            "DELETE FROM tab WHERE a = 1 AND",
            "EXISTS(SELECT * FROM tab WHERE",
        ][beginning];
        let words: Vec<&str> = words.iter().map(|at| SOUP[*at]).collect();
        swallow(&format!("{beginning} {}", words.join(" ")));
    }

    #[test]
    fn any_token_is_answered(text in "[A-Za-z0-9+/=]{0,80}", fingerprint in any::<u64>()) {
        let _ = NextToken::decode(&text, fingerprint);
    }
}

#[test]
fn nesting_as_deep_as_a_statement_is_long() {
    let deep = |open: &str, inner: &str, close: &str| {
        let levels = 8000 / (open.len() + close.len());
        swallow(&format!(
            "SELECT * FROM tab WHERE {}{inner}{}",
            open.repeat(levels),
            close.repeat(levels)
        ));
    };
    deep("(", "a = 1", ")");
    deep("[", "1", "]");
    deep("a = [", "1", "]");
    deep("{'a':", "1", "}");
    deep("<<", "1", ">>");
    deep("NOT ", "a = 1", "");
    deep("- ", "1", "");
    deep("- ", "a", "");
    deep("f(", "1", ")");
    deep("a[", "1", "]");
    deep("a.", "b", "");
    deep("a = 1 AND ", "a = 1", "");
    deep("a = ", "1", "");
    deep("a BETWEEN ", "1", " AND 1");
    deep("a IN (", "1", ")");
    deep("a BETWEEN 1 AND ", "1", "");
    let sums = "1 + ".repeat(2000);
    swallow(&format!("UPDATE tab SET a = {sums}1"));
    let appended = "list_append(a, ".repeat(400);
    swallow(&format!("UPDATE tab SET a = {appended}b{}", ")".repeat(400)));
}
