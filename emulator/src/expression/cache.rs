//! A cache of parsed expressions by their text: applications send the same few texts many times.

use std::sync::Arc;

use super::ast::{Grammar, Parsed};
use super::parser;
use crate::cache::{self, TextCache};

/// A bounded cache of parsed expressions. Texts that do not parse are not cached.
pub struct Cache(TextCache<Parsed>);

impl Cache {
    pub fn new() -> Cache {
        Cache(TextCache::new())
    }

    /// The parsed form of `text`, from the cache or parsed now.
    pub(super) fn parse(&self, text: &str, grammar: Grammar) -> Result<Arc<Parsed>, String> {
        if let Some(parsed) = self.0.find(text, grammar) {
            return Ok(parsed);
        }
        let parsed = Arc::new(parser::parse(text, grammar)?);
        self.0.insert(parsed.clone());
        Ok(parsed)
    }
}

impl cache::ParsedText for Parsed {
    type Grammar = Grammar;

    fn text(&self) -> &str {
        &self.text
    }

    fn grammar(&self) -> Grammar {
        self.grammar
    }

    fn weight(&self) -> usize {
        Parsed::weight(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::Body;
    use super::*;

    #[test]
    fn a_text_is_parsed_once_for_each_grammar() {
        let cache = Cache::new();
        // The approximate length of the longest text that the service accepts.
        let long = vec!["a = :v"; 340].join(" AND ");
        for text in ["a = :v", &long] {
            let first = cache.parse(text, Grammar::Condition).unwrap();
            assert!(Arc::ptr_eq(&first, &cache.parse(text, Grammar::Condition).unwrap()));
        }
        assert!(cache.parse("a = :v", Grammar::Update).is_err());
        assert!(cache.parse("a = :w", Grammar::Condition).is_ok());
    }

    #[test]
    fn an_expression_weighs_what_it_takes() {
        let many = |part: &str, between: &str| {
            let parts = (0..40).map(|at| part.replace('$', &at.to_string()));
            parts.collect::<Vec<_>>().join(between)
        };
        for (text, grammar) in [
            (many("a$.#b$ = :v$", " AND "), Grammar::Condition),
            (format!("SET {}", many("a$.#b$ = c$ + :v$", ", ")), Grammar::Update),
            (many("a$.#b$", ", "), Grammar::Projection),
            ("a".repeat(4000), Grammar::Projection),
        ] {
            let parsed = parser::parse(&text, grammar).unwrap();
            let body = match &parsed.body {
                Body::Condition { nodes, program, .. } => size_of_val(&**nodes) + size_of_val(&**program),
                Body::Update(actions) => size_of_val(&**actions),
                Body::Projection(paths) => size_of_val(&**paths),
            };
            let lists = [
                size_of::<Parsed>(),
                size_of_val(&*parsed.literals),
                size_of_val(&*parsed.names),
                size_of_val(&*parsed.values),
                size_of_val(&*parsed.elements),
                size_of_val(&*parsed.operands),
                size_of_val(&*parsed.applications),
                size_of_val(&*parsed.steps),
            ];
            let least = text.len() + text.len() + body + lists.iter().sum::<usize>();
            // A list that grows has up to twice the room it needs.
            assert!(
                (least..2 * least).contains(&parsed.weight()),
                "{text}: {}",
                parsed.weight()
            );
        }
    }
}
