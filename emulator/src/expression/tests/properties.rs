//! Property tests: no text makes the parser panic or overflow a small stack.

use std::thread;

use proptest::prelude::*;

use super::super::ExpressionKind::{self, *};
use super::super::*;
use super::{error_of, item, substitutions};
use crate::value::Item;

const KINDS: [ExpressionKind; 5] = [Condition, Filter, KeyCondition, Projection, Update];

/// Texts of the language's own tokens, which get further than arbitrary ones.
fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "a",
        "b",
        "#a",
        ":v",
        ":n",
        ":l",
        ":ss",
        "status",
        "size",
        "contains",
        "if_not_exists",
        "list_append",
        "foo",
        "AND",
        "OR",
        "NOT",
        "BETWEEN",
        "IN",
        "SET",
        "REMOVE",
        "ADD",
        "DELETE",
        "=",
        "<>",
        "<",
        "+",
        "-",
        ",",
        "(",
        ")",
        "[",
        "]",
        "0",
        "7",
        "99999999999",
        ".",
        "é",
        "#",
        "begins_with(",
        "attribute_exists(",
        "a = :v",
    ]);
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.join(" "))
}

fn run_all(text: &str) {
    let (cache, substitutions) = (Cache::new(), substitutions(text));
    let item = item(&[("a", "'x"), ("b", "L|1 2"), ("pk", "'p")]);
    let mut scope = Bindings::new(&substitutions, &cache).unwrap();
    if let Ok(condition) = scope.condition(Filter, text) {
        condition.matches(Some(&item));
        condition.matches(None);
    }
    if let Ok(update) = scope.update(text)
        && let Ok(Some(new)) = update.apply(Some(&item), &item)
    {
        update.touched(&Item::new(&new));
        update.charge(&Item::new(&new));
    }
    if let Ok(projection) = scope.projection(text) {
        projection.apply(&item);
    }
    drop(scope.key_condition(text));
    drop(scope.check_all_used());
}

proptest! {
    #[test]
    fn arbitrary_texts_are_answered(text in "\\PC{0,60}") {
        run_all(&text);
    }

    #[test]
    fn arbitrary_tokens_are_answered(text in tokens()) {
        run_all(&text);
        run_all(&format!("SET {text}"));
    }

    /// A syntax error shows a part of the text, and a token within that part.
    #[test]
    fn the_echoed_excerpt_is_part_of_the_text(text in tokens()) {
        if let Some(message) = error_of(Filter, &text)
            && let Some((_, rest)) = message.split_once("token: \"")
            && let Some((token, rest)) = rest.split_once("\", near: \"")
        {
            let near = rest.strip_suffix('"').unwrap();
            prop_assert!(text.contains(near));
            prop_assert!(token == "<EOF>" || near.contains(token));
        }
    }
}

#[test]
fn no_nesting_overflows_a_small_stack() {
    let fill = |unit: &str, end: &str| unit.repeat((4096 - end.len()) / unit.len()) + end;
    let mut texts = vec![
        fill("(", ""),
        fill("(", "a = :v"),
        "(".repeat(2040) + "a = b" + &")".repeat(2040),
        fill("NOT ", ""),
        fill("NOT ", "a = :v"),
        fill("(NOT ", "a"),
        fill("size(", "a"),
        "size(".repeat(670) + "a" + &")".repeat(670) + " = :n",
        fill("a = b AND ", "a = b"),
        fill("a = b OR (", "a = b"),
        fill("a.", "a"),
        fill("a[0]", " = :v"),
        "a".to_owned() + &"[0]".repeat(1360),
        "SET a = ".to_owned() + &"(".repeat(4000),
        "SET a = ".to_owned() + &"if_not_exists(b, ".repeat(227) + "c" + &")".repeat(227),
        "SET a = ".to_owned() + &"list_append(".repeat(300) + "a",
        (0..800).map(|at| format!("a{at}")).collect::<Vec<_>>().join(","),
    ];
    texts.push("NOT ".repeat(299) + "a = :v");
    assert!(texts.iter().all(|text| text.len() <= 4096));
    let small = thread::Builder::new().stack_size(256 * 1024);
    let run = small.spawn(move || {
        for text in &texts {
            run_all(text);
            for kind in KINDS {
                drop(error_of(kind, text));
            }
        }
    });
    run.unwrap().join().unwrap();
}
