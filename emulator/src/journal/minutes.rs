//! Counters by the minute of the emulator's clock.

use super::counts::{self, AccountCounts};
use super::metric::{Datapoint, Metric};
use crate::clock::Moment;
use crate::sort;
use crate::sorted::SortedMap;
use crate::value::Name;

/// The number of retained minutes with activity: a day's worth.
const MOST_MINUTES: usize = 1440;
/// The number of retained counters; beyond it the oldest minutes are dropped, and the last one accepts no new counters.
const MOST_COUNTERS: usize = 20_000;

/// What was counted in each minute, by owner.
#[derive(Debug, Default)]
pub(super) struct Minutes {
    minutes: SortedMap<i64, Minute>,
    counters: usize,
}

#[derive(Debug, Default)]
struct Minute {
    accounts: SortedMap<(Name, Name), AccountCounts>,
    counters: usize,
}

impl Minutes {
    /// Adds the counts of a request executed at this moment.
    pub fn add(&mut self, owner: &(Name, Name), at: Moment, counts: &AccountCounts) {
        let number = at.seconds().div_euclid(60);
        let new = !self.minutes.contains_key(&number);
        if self.minutes.len() + usize::from(new) > MOST_MINUTES || self.counters >= MOST_COUNTERS {
            self.forget_oldest(number);
        }
        let mut room = MOST_COUNTERS.saturating_sub(self.counters);
        let before = room;
        let minute = self.minutes.get_or_default(&number);
        if let Some(account) = counts::slot(&mut minute.accounts, owner, &mut room) {
            account.add(counts, &mut room);
        }
        minute.counters += before - room;
        self.counters += before - room;
    }

    /// Forgets the oldest minute, if it is not this one.
    fn forget_oldest(&mut self, kept: i64) {
        if self.minutes.keys().next().is_some_and(|oldest| *oldest != kept)
            && let Some((_, gone)) = self.minutes.pop_first()
        {
            self.counters -= gone.counters;
        }
    }

    /// All that is known of an owner, oldest first.
    pub fn of(&self, owner: &(Name, Name)) -> Vec<Datapoint> {
        let minutes = self.minutes.iter();
        let there = minutes.filter_map(|(number, minute)| Some((*number, minute.accounts.get(owner)?)));
        there
            .flat_map(|(number, account)| {
                let start = Moment::from_seconds(number.saturating_mul(60));
                datapoints(start, account)
            })
            .collect()
    }
}

fn datapoints(start: Moment, account: &AccountCounts) -> Vec<Datapoint> {
    let samples = account
        .samples()
        .into_iter()
        .map(|(name, dimensions, samples)| Datapoint {
            start,
            metric: Metric {
                name,
                dimensions,
                value: samples.sum,
            },
            samples: Some(samples),
        });
    let measured: Vec<Datapoint> = samples.collect();
    let counters = account.metrics().into_iter();
    let counters = counters.filter(|metric| !measured.iter().any(|point| point.metric.name == metric.name));
    let mut points: Vec<Datapoint> = counters
        .map(|metric| Datapoint {
            start,
            metric,
            samples: None,
        })
        .collect();
    points.extend(measured);
    sort::sort_by_key(&mut points, |point| {
        (point.metric.name, point.metric.dimensions.clone())
    });
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(count: u64) -> AccountCounts {
        let mut account = AccountCounts::default();
        account.user_errors = count;
        account
    }

    fn owner(name: &str) -> (Name, Name) {
        (name.into(), "us-east-1".into())
    }

    #[test]
    fn minutes_are_separate_and_the_oldest_are_dropped() {
        let mut minutes = Minutes::default();
        let at = |minute: i64| Moment::from_seconds(minute * 60 + 59);
        for minute in 0..MOST_MINUTES as i64 + 7 {
            minutes.add(&owner("me"), at(minute), &errors(1));
            assert!(minutes.minutes.len() <= MOST_MINUTES, "minute {minute}");
            minutes.add(&owner("me"), at(minute), &errors(2));
        }
        let points = minutes.of(&owner("me"));
        assert_eq!(points.len(), MOST_MINUTES);
        assert_eq!(points[0].start, Moment::from_seconds(7 * 60));
        assert!(points.iter().all(|point| point.metric.value == 3.0));
        assert_eq!(
            (minutes.counters, minutes.of(&owner("you"))),
            (MOST_MINUTES, Vec::new())
        );
    }

    #[test]
    fn counters_are_bounded() {
        let mut minutes = Minutes::default();
        for at in 0..2 * MOST_COUNTERS {
            minutes.add(
                &owner(&at.to_string()),
                Moment::from_seconds(at as i64 / 100),
                &errors(1),
            );
        }
        let found: usize = minutes.minutes.values().map(|minute| minute.accounts.len()).sum();
        assert_eq!(found, minutes.counters);
        assert!(found <= MOST_COUNTERS && found > MOST_COUNTERS / 2, "{found}");
        // Counters of one minute are bounded as well.
        (0..2 * MOST_COUNTERS)
            .for_each(|at| minutes.add(&owner(&at.to_string()), Moment::from_seconds(86_400), &errors(1)));
        assert!(minutes.counters <= MOST_COUNTERS);
    }
}
