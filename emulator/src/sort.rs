//! Sorting with little code: the standard library's sort takes 3 KB of wasm for each type and comparison.

use std::cmp::Ordering;

/// Up to this length, insertion takes fewer instructions than sorting an index.
const FEW: usize = 16;

/// Sorts a list. Equal elements stay in their order.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// Sorts a list and drops all but one of equal elements.
pub fn sort_unique<T: Ord>(list: &mut Vec<T>) {
    sort(list);
    list.dedup();
}

/// The position of the first element that is equal to an earlier one.
pub fn first_repeat<T: Ord>(list: impl Iterator<Item = T>) -> Option<usize> {
    let mut numbered: Vec<(T, usize)> = list.zip(0..).collect();
    sort(&mut numbered);
    let repeats = numbered.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    repeats.map(|pair| pair[1].1).min()
}

/// Sorts a list by a key of each element. Elements with equal keys stay in their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |left, right| key(left).cmp(&key(right)));
}

/// Sorts a list by a total order of its elements. Equal elements stay in their order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let length = list.len();
    if length > 1 {
        sort_list(&mut Comparing { list, compare }, length);
    }
}

/// A list whose elements are addressed by their positions.
trait List {
    fn compare(&self, left: usize, right: usize) -> Ordering;
    fn swap(&mut self, left: usize, right: usize);
}

struct Comparing<'l, T, C> {
    list: &'l mut [T],
    compare: C,
}

impl<T, C: Fn(&T, &T) -> Ordering> List for Comparing<'_, T, C> {
    fn compare(&self, left: usize, right: usize) -> Ordering {
        (self.compare)(&self.list[left], &self.list[right])
    }

    fn swap(&mut self, left: usize, right: usize) {
        self.list.swap(left, right);
    }
}

fn sort_list(list: &mut dyn List, length: usize) {
    if length <= FEW {
        for end in 1..length {
            let mut at = end;
            while at > 0 && list.compare(at, at - 1).is_lt() {
                list.swap(at, at - 1);
                at -= 1;
            }
        }
        return;
    }
    let mut from: Vec<usize> = (0..length).collect();
    from.sort_by(|left, right| list.compare(*left, *right));
    // Element `from[at]` belongs at `at`: each cycle of this permutation takes one swap less than it has elements.
    for start in 0..length {
        let mut at = start;
        while from[at] != start {
            let next = from[at];
            list.swap(at, next);
            from[at] = at;
            at = next;
        }
        from[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(list in prop::collection::vec(0_u8..20, 0..80)) {
            let numbered: Vec<(u8, usize)> = list.into_iter().zip(0..).collect();
            let mut expect = numbered.clone();
            expect.sort_by_key(|(key, _)| *key);
            let mut sorted = numbered.clone();
            sort_by_key(&mut sorted, |(key, _)| *key);
            prop_assert_eq!(&sorted, &expect);
            sorted.reverse();
            sort(&mut sorted);
            prop_assert_eq!(&sorted, &expect);
            let repeats = |at: &usize| numbered[..*at].iter().any(|(key, _)| *key == numbered[*at].0);
            let keys = || numbered.iter().map(|(key, _)| key);
            prop_assert_eq!(first_repeat(keys()), (0..numbered.len()).find(repeats));
            let mut unique: Vec<_> = keys().collect();
            sort_unique(&mut unique);
            prop_assert_eq!(unique, keys().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        }
    }
}
