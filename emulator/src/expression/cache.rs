//! Parsed expressions by their text. Applications send few texts, many times each.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::ast::{Grammar, Parsed};
use super::parser;
use crate::sync::Mutex;

/// How many sets there are, each with its own lock. A power of two.
const SETS: usize = if cfg!(loom) { 1 } else { 128 };
/// The most expressions a set holds.
const WAYS: usize = 4;
/// The most memory a set's expressions take, about: 16 MiB in all.
const SET_WEIGHT: usize = 128 * 1024;

/// A bounded cache of parsed expressions.
///
/// It is set-associative: a text's hash selects its set, in which the most recently used text comes first
/// and the last one is evicted. Texts that do not parse are not cached.
pub struct Cache {
    sets: Box<[Mutex<Vec<CacheEntry>>]>,
}

struct CacheEntry {
    weight: usize,
    parsed: Arc<Parsed>,
}

impl Cache {
    /// An empty cache.
    pub fn new() -> Cache {
        Cache {
            sets: (0..SETS).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// The parsed form of `text`, from the cache or parsed now.
    pub(super) fn parse(&self, text: &str, grammar: Grammar) -> Result<Arc<Parsed>, String> {
        let mut hasher = FxHasher::default();
        (grammar, text).hash(&mut hasher);
        let hash = hasher.finish();
        let set = &self.sets[(hash >> 32) as usize & (SETS - 1)];
        if let Some(parsed) = find(&mut set.lock(), text, grammar) {
            return Ok(parsed);
        }
        let parsed = Arc::new(parser::parse(text, grammar)?);
        let entry = CacheEntry {
            weight: parsed.weight(),
            parsed: parsed.clone(),
        };
        insert(&mut set.lock(), entry);
        Ok(parsed)
    }
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::new()
    }
}

fn find(set: &mut [CacheEntry], text: &str, grammar: Grammar) -> Option<Arc<Parsed>> {
    let at = set
        .iter()
        .position(|CacheEntry { parsed, .. }| parsed.grammar == grammar && *parsed.text == *text)?;
    set[..=at].rotate_right(1);
    Some(set[0].parsed.clone())
}

fn insert(set: &mut Vec<CacheEntry>, entry: CacheEntry) {
    if entry.weight > SET_WEIGHT {
        return;
    }
    set.insert(0, entry);
    let mut weight = 0;
    let fitting = set.iter().take(WAYS).take_while(|entry| {
        weight += entry.weight;
        weight <= SET_WEIGHT
    });
    let count = fitting.count();
    set.truncate(count);
}

#[cfg(test)]
mod tests {
    use super::super::ast::Body;
    use super::*;

    #[test]
    fn a_text_is_parsed_once_for_each_grammar() {
        let cache = Cache::new();
        // About the longest that the service takes.
        let long = vec!["a = :v"; 340].join(" AND ");
        for text in ["a = :v", &long] {
            let first = cache.parse(text, Grammar::Condition).unwrap();
            assert!(Arc::ptr_eq(&first, &cache.parse(text, Grammar::Condition).unwrap()));
        }
        assert!(cache.parse("a = :v", Grammar::Update).is_err());
        assert!(cache.parse("a = :w", Grammar::Condition).is_ok());
    }

    #[test]
    fn the_cache_is_bounded_in_number_and_in_weight() {
        let cache = Cache::new();
        let long = "a.".repeat(15) + "a";
        for number in 0..5000 {
            let filler = vec![format!("{long}{number}"); 100].join(" = :v AND ");
            let text = if number % 7 == 0 {
                format!("{filler} = :v")
            } else {
                format!("a{number} = :v")
            };
            cache.parse(&text, Grammar::Condition).unwrap();
        }
        for set in &cache.sets {
            let set = set.lock();
            assert!((1..=WAYS).contains(&set.len()));
            assert!(set.iter().map(|entry| entry.weight).sum::<usize>() <= SET_WEIGHT);
        }
    }

    #[test]
    fn a_set_keeps_the_latest_that_fit_and_nothing_makes_way_for_what_cannot() {
        let mut set = Vec::new();
        for (text, weight, kept) in [
            ("a", SET_WEIGHT / 2, vec!["a"]),
            ("b", SET_WEIGHT + 1, vec!["a"]),
            ("c", SET_WEIGHT / 2, vec!["c", "a"]),
            ("d", 1, vec!["d", "c"]),
            ("e", SET_WEIGHT, vec!["e"]),
        ] {
            let parsed = Arc::new(parser::parse(text, Grammar::Projection).unwrap());
            insert(&mut set, CacheEntry { weight, parsed });
            let texts: Vec<&str> = set.iter().map(|entry| &*entry.parsed.text).collect();
            assert_eq!(texts, kept, "{text}");
        }
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
