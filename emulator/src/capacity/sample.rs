//! A bounded sample of a partition's most requested tokens, from which split points are chosen.

use super::units::Units;
use crate::sort;

const MOST: usize = 32;

/// The tokens of a partition that have cost most. When it is full, the coldest makes room and leaves its cost behind
/// (the "space-saving" sketch): a token that has more than a 32nd of all is always in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample(Vec<(u64, Units)>);

impl Sample {
    pub fn note(&mut self, token: u64, units: Units) {
        if let Some((_, sum)) = self.0.iter_mut().find(|(seen, _)| *seen == token) {
            *sum += units;
        } else if self.0.len() < MOST {
            self.0.push((token, units));
        } else if let Some(coldest) = self.0.iter_mut().min_by_key(|(_, sum)| *sum) {
            *coldest = (token, coldest.1 + units);
        }
    }

    /// The token before which a split leaves the most even halves; `None` if all heat is one key's, which no split divides.
    pub fn split(&self) -> Option<u64> {
        let mut sorted = self.0.clone();
        sort::sort_by_key(&mut sorted, |(token, _)| *token);
        let total: Units = sorted.iter().map(|(_, units)| *units).sum();
        let mut before = Units::ZERO;
        let cuts = sorted.windows(2).map(|pair| {
            before += pair[0].1;
            (pair[1].0, before.max(total.without(before)))
        });
        cuts.min_by_key(|(_, larger)| *larger).map(|(token, _)| token)
    }

    /// What is left of it on one side of a split.
    #[must_use]
    pub fn part(&self, keep: impl Fn(u64) -> bool) -> Sample {
        Sample(self.0.iter().filter(|(token, _)| keep(*token)).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        for (heat, expect) in [
            (&[][..], None),
            (&[(5, 9)], None),
            (&[(5, 9), (7, 1)], Some(7)),
            (&[(7, 9), (5, 1)], Some(7)),
            (&[(1, 2), (2, 2), (3, 2), (4, 2)], Some(3)),
            (&[(1, 1), (2, 9), (3, 1)], Some(2)),
        ] {
            let mut sample = Sample::default();
            heat.iter()
                .for_each(|(token, units)| sample.note(*token, Units::whole(*units)));
            assert_eq!(sample.split(), expect, "{heat:?}");
        }
    }

    #[test]
    fn the_coldest_token_makes_room() {
        let mut sample = Sample::default();
        (0..100).for_each(|_| sample.note(77_777, Units::whole(1)));
        (0..1000).for_each(|token| sample.note(token, Units::halves(1)));
        let hot = sample.part(|token| token == 77_777);
        assert_eq!(hot.0, [(77_777, Units::whole(100))]);
        // The last token has the cost of those that made room for it.
        assert!(sample.part(|token| token == 999).0[0].1 > Units::halves(1));
        assert_eq!(
            sample.0.iter().map(|(_, units)| *units).sum::<Units>(),
            Units::whole(600)
        );
    }

    #[test]
    fn a_hot_token_is_kept_among_many() {
        let mut sample = Sample::default();
        for token in 0..10_000 {
            sample.note(token, Units::whole(1));
            sample.note(77_777, Units::whole(1));
        }
        assert!(sample.0.len() <= MOST);
        assert!(sample.part(|token| token == 77_777).0[0].1 >= Units::whole(10_000));
    }
}
