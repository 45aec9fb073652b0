//! Rate limits of an account's control-plane requests.

use std::time::Duration;

use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::sync::Mutex;

/// The maximum number of accounts and kinds of requests that are remembered; beyond it all counts restart.
const MOST_RATES: usize = 10_000;

/// Requests that are served at once, and how many a second after that.
#[derive(Clone, Copy)]
struct Rate {
    kind: RateGroup,
    burst: u32,
    per_second: u32,
}

/// Requests that share a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateGroup {
    /// An operation with its own rate, by its position in `OWN`.
    Own(usize),
    /// Operations that create, change or delete.
    Changes,
    /// All operations without a rate of their own.
    Others,
}

/// Operations whose bursts were measured on the service (docs/behavior: 04 1.3), and the rate at which their buckets
/// refill.
const OWN: [(&str, u32, u32); 6] = [
    // "You can expect throttling errors if you call it more than once in a minute" (API Reference); concurrent calls are
    // throttled (measured).
    ("DescribeLimits", 2, 1),
    ("DescribeTimeToLive", 5, 5),
    ("DescribeBackup", 13, 10),
    ("DescribeExport", 13, 10),
    ("DescribeImport", 13, 10),
    ("ListBackups", 5, 5),
];

/// About ten mutating requests are served at a time (measured). Each takes some 25 ms, so sequential requests are never
/// throttled.
const CHANGES: Rate = Rate {
    kind: RateGroup::Changes,
    burst: 10,
    per_second: 40,
};

/// "Up to 2,500 requests a second" (API Reference, DescribeTable).
const OTHERS: Rate = Rate {
    kind: RateGroup::Others,
    burst: 2500,
    per_second: 2500,
};

const CHANGING: [&str; 10] = [
    "CreateTable",
    "DeleteTable",
    "ImportTable",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "UpdateTable",
    "UpdateTimeToLive",
    "CreateBackup",
    "DeleteBackup",
    "UpdateContinuousBackups",
];

/// The rate of an operation; `None` for those that read and write items or records.
fn rate(operation: &str) -> Option<Rate> {
    if let Some(at) = OWN.iter().position(|(name, ..)| *name == operation) {
        let (_, burst, per_second) = OWN[at];
        return Some(Rate {
            kind: RateGroup::Own(at),
            burst,
            per_second,
        });
    }
    match operation {
        "GetRecords" | "GetShardIterator" | "StartBulkPutItems" => None,
        operation if CHANGING.contains(&operation) => Some(CHANGES),
        _ => Some(OTHERS),
    }
}

/// When each account has used up its requests of each kind: as token buckets that are empty now would be full again.
#[derive(Debug, Default)]
pub struct Rates(Mutex<SortedMap<(u64, RateGroup), Moment>>);

impl Rates {
    /// Counts a request of an account; returns its kind if there were too many.
    pub fn admit(&self, owner: u64, operation: &str, now: Moment) -> Result<(), RateGroup> {
        let Some(rate) = rate(operation) else { return Ok(()) };
        let each = Duration::from_secs(1) / rate.per_second;
        let mut full = self.0.lock();
        if full.len() >= MOST_RATES {
            full.clear();
        }
        let at = full.get_or_insert((owner, rate.kind), now);
        let next = (*at).max(now).plus(each);
        if next > now.plus(each * rate.burst) {
            return Err(rate.kind);
        }
        *at = next;
        Ok(())
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(operation: &str, requests: usize, apart: Duration) -> usize {
        let rates = Rates::default();
        let mut now = Moment::START;
        (0..requests)
            .filter(|_| {
                now = now.plus(apart);
                rates.admit(7, operation, now).is_ok()
            })
            .count()
    }

    #[test]
    fn bursts_are_bounded_and_refill() {
        for (operation, at_once) in [
            ("DescribeLimits", 2),
            ("DescribeTimeToLive", 5),
            ("DescribeBackup", 13),
            ("DescribeExport", 13),
            ("DescribeImport", 13),
            ("ListBackups", 5),
            ("CreateTable", 10),
            ("DescribeTable", 2500),
            ("GetRecords", 3000),
            ("GetShardIterator", 3000),
            ("StartBulkPutItems", 3000),
        ] {
            assert_eq!(admitted(operation, 3000, Duration::ZERO), at_once, "{operation}");
        }
        // Sequential requests, each of which takes its time.
        assert_eq!(admitted("CreateTable", 1000, Duration::from_millis(25)), 1000);
        assert_eq!(admitted("CreateTable", 1000, Duration::from_micros(12_500)), 509);
        for (operation, per_second) in [
            ("DescribeLimits", 1),
            ("DescribeTimeToLive", 5),
            ("DescribeBackup", 10),
            ("DescribeExport", 10),
            ("DescribeImport", 10),
            ("ListBackups", 5),
        ] {
            let (burst, apart) = (
                admitted(operation, 100, Duration::ZERO),
                Duration::from_secs(1) / per_second,
            );
            assert_eq!(admitted(operation, 100, apart), 100, "{operation}");
            // With twice as many, what the burst does not cover is admitted every second time.
            assert_eq!(admitted(operation, 100, apart / 2), 49 + burst, "{operation}");
        }
        for operation in CHANGING {
            assert_eq!(admitted(operation, 100, Duration::ZERO), 10, "{operation}");
        }
    }

    /// An operation that has used up its requests stops those that share its rate, and no other, and no other account.
    #[test]
    fn only_operations_of_one_rate_use_it_up_together() {
        let own = OWN.map(|(name, burst, _)| (name, burst as usize));
        let own = own.iter().enumerate();
        let own = own.map(|(at, (name, burst))| (*name, RateGroup::Own(at), *burst));
        let changes = ["CreateTable", "UpdateTable", "DeleteBackup"].map(|name| (name, RateGroup::Changes, 10));
        let others = ["DescribeTable", "TagResource"].map(|name| (name, RateGroup::Others, 2500));
        let operations: Vec<_> = own.chain(changes).chain(others).collect();
        for (first, group, burst) in &operations {
            for (second, of_second, at_once) in &operations {
                let rates = Rates::default();
                let served = |owner: u64, operation: &str, now: Moment| -> (usize, RateGroup) {
                    let refused = (0..).find_map(|at| Some((at, rates.admit(owner, operation, now).err()?)));
                    refused.unwrap()
                };
                let now = Moment::START;
                assert_eq!(served(1, first, now), (*burst, *group), "{first}");
                let expect = if group == of_second { 0 } else { *at_once };
                assert_eq!(served(1, second, now), (expect, *of_second), "{second} after {first}");
                assert_eq!(
                    served(2, second, now),
                    (*at_once, *of_second),
                    "{second} of another account"
                );
                let later = now.plus(Duration::from_mins(1));
                assert_eq!(
                    served(1, second, later),
                    (*at_once, *of_second),
                    "{second} after a minute"
                );
            }
        }
    }

    #[test]
    fn accounts_and_kinds_are_apart_and_memory_is_bounded() {
        let rates = Rates::default();
        let admit = |owner, operation| rates.admit(owner, operation, Moment::START).is_ok();
        assert_eq!((0..20).filter(|_| admit(1, "CreateTable")).count(), 10);
        assert!(!admit(1, "DeleteTable") && admit(1, "ListTables") && admit(2, "CreateTable"));
        (0..2 * MOST_RATES as u64).for_each(|owner| assert!(admit(owner + 10, "ListTables")));
        assert!(rates.0.lock().len() <= MOST_RATES);
    }
}
