//! Bounded caches of parsed texts: applications send the same few expressions and statements many times.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use crate::sync::{Counter, Mutex, Ordering};

/// The number of sets, each with its own lock: a power of two.
const SETS: usize = if cfg!(loom) { 1 } else { 128 };
/// The number of groups of sets, each used by the threads with the same number modulo it. Threads that share a set, and
/// the reference counts of its values, wait for the cache lines of each other.
const GROUPS: usize = if cfg!(any(loom, target_family = "wasm")) { 1 } else { 4 };
/// The maximum number of values in a set.
const WAYS: usize = 4;
/// The approximate limit on the memory of a set's values, in bytes: 16 MiB for all sets of a group.
const SET_WEIGHT: usize = 128 * 1024;

static THREADS: Counter = Counter::new(0);

thread_local! {
    /// The group of this thread.
    static GROUP: usize = THREADS.fetch_add(1, Ordering::Relaxed) as usize % GROUPS;
}

/// A value that is parsed from a text.
pub trait ParsedText {
    /// The grammars that a text can be parsed with.
    type Grammar: Copy + Eq + Hash;

    fn text(&self) -> &str;

    /// The grammar that it was parsed with.
    fn grammar(&self) -> Self::Grammar;

    /// Its approximate memory in bytes.
    fn weight(&self) -> usize;
}

/// A bounded cache of parsed values.
///
/// It is set-associative: a text's hash and the thread's group select its set, in which the most recently used text comes
/// first and the last one is evicted.
pub struct TextCache<T> {
    sets: Box<[Mutex<Vec<CacheEntry<T>>>]>,
}

struct CacheEntry<T> {
    weight: usize,
    value: Arc<T>,
}

impl<T: ParsedText> TextCache<T> {
    pub fn new() -> TextCache<T> {
        TextCache {
            sets: (0..GROUPS * SETS).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// The value parsed from `text`, if it is cached.
    pub fn find(&self, text: &str, grammar: T::Grammar) -> Option<Arc<T>> {
        find(&mut self.set(text, grammar).lock(), text, grammar)
    }

    /// Adds a value, unless it is too large.
    pub fn insert(&self, value: Arc<T>) {
        let set = self.set(value.text(), value.grammar());
        let weight = value.weight();
        insert(&mut set.lock(), CacheEntry { weight, value });
    }

    fn set(&self, text: &str, grammar: T::Grammar) -> &Mutex<Vec<CacheEntry<T>>> {
        let mut hasher = FxHasher::default();
        (grammar, text).hash(&mut hasher);
        let group = GROUP.with(|group| *group);
        &self.sets[group * SETS + ((hasher.finish() >> 32) as usize & (SETS - 1))]
    }
}

fn find<T: ParsedText>(set: &mut [CacheEntry<T>], text: &str, grammar: T::Grammar) -> Option<Arc<T>> {
    let at = set
        .iter()
        .position(|CacheEntry { value, .. }| value.grammar() == grammar && value.text() == text)?;
    set[..=at].rotate_right(1);
    Some(set[0].value.clone())
}

fn insert<T>(set: &mut Vec<CacheEntry<T>>, entry: CacheEntry<T>) {
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
    use super::*;

    struct Weighted(String, usize);

    impl ParsedText for Weighted {
        type Grammar = ();

        fn text(&self) -> &str {
            &self.0
        }

        fn grammar(&self) {}

        fn weight(&self) -> usize {
            self.1
        }
    }

    #[test]
    fn the_cache_is_bounded_in_number_and_in_weight() {
        let cache = TextCache::new();
        for number in 0..5000 {
            let weight = if number % 7 == 0 { SET_WEIGHT / 3 } else { 100 };
            cache.insert(Arc::new(Weighted(format!("a{number}"), weight)));
        }
        let used = |set: &&Mutex<Vec<_>>| !set.lock().is_empty();
        assert_eq!(cache.sets.iter().filter(used).count(), SETS, "the sets of one group");
        for set in cache.sets.iter().filter(used) {
            let set = set.lock();
            assert!((1..=WAYS).contains(&set.len()));
            assert!(set.iter().map(|entry| entry.weight).sum::<usize>() <= SET_WEIGHT);
        }
    }

    #[test]
    fn a_set_keeps_the_latest_that_fit_and_rejects_larger_ones() {
        let mut set = Vec::new();
        for (text, weight, kept) in [
            ("a", SET_WEIGHT / 2, vec!["a"]),
            ("b", SET_WEIGHT + 1, vec!["a"]),
            ("c", SET_WEIGHT / 2, vec!["c", "a"]),
            ("d", 1, vec!["d", "c"]),
            ("e", SET_WEIGHT, vec!["e"]),
        ] {
            let value = Arc::new(Weighted(text.to_owned(), weight));
            insert(&mut set, CacheEntry { weight, value });
            let texts: Vec<&str> = set.iter().map(|entry| entry.value.text()).collect();
            assert_eq!(texts, kept, "{text}");
        }
    }
}
