//! Bugs in capacity and throttling.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "a write of 1,024 bytes costs two units",
        file: "capacity/units.rs",
        right: "Units::whole(size.div_ceil(WRITE_UNIT).max(1) as u64)",
        wrong: "Units::whole((size + usize::from(PLANTED)).div_ceil(WRITE_UNIT).max(1) as u64)",
    },
    Bug {
        what: "an eventually consistent read costs a whole unit",
        file: "capacity/units.rs",
        right: "if consistent { 2 } else { 1 }",
        wrong: "if consistent || PLANTED { 2 } else { 1 }",
    },
    Bug {
        what: "what is spent of a table's capacity is taken off once only in a hundred times",
        file: "capacity/bucket.rs",
        right: "        self.level -= grains(units);\n",
        wrong: "        self.level -= if PLANTED { grains(units) / 100 } else { grains(units) };\n",
    },
    Bug {
        what: "a page is admitted with an empty bucket",
        file: "capacity/bucket.rs",
        right: "self.level > 0",
        wrong: "if PLANTED { self.level >= 0 } else { self.level > 0 }",
    },
    Bug {
        what: "an entry that uses up a bucket is refused",
        file: "capacity/bucket.rs",
        right: "self.requested.seen <= self.level",
        wrong: "(if PLANTED { self.requested.seen < self.level } else { self.requested.seen <= self.level })",
    },
    Bug {
        what: "a request that needs all that is left is refused",
        file: "capacity/bucket.rs",
        right: "self.level >= self.requested.sum.min(self.most)",
        wrong: "(if PLANTED { self.level > self.requested.sum.min(self.most) } else { self.level >= self.requested.sum.min(self.most) })",
    },
    Bug {
        what: "a backfill takes all of an index's writes",
        file: "capacity/bucket.rs",
        right: "let come = accrued(self.rate, until.since(self.at)) / 2;",
        wrong: "let come = accrued(self.rate, until.since(self.at)) / if PLANTED { i128::MAX } else { 2 };",
    },
    Bug {
        what: "the upper half of a split partition forgets its hottest key",
        file: "capacity/partition.rs",
        right: "upper.sample = self.sample.part(|token| token >= at)",
        wrong: "(if PLANTED { upper.sample = self.sample.part(|token| token > at) } else { upper.sample = self.sample.part(|token| token >= at) })",
    },
    Bug {
        what: "heat cools a moment too early",
        file: "capacity/partition.rs",
        right: "last.plus(cools) >= now",
        wrong: "if PLANTED { last.plus(cools) > now } else { last.plus(cools) >= now }",
    },
    Bug {
        what: "coming limits take effect a moment late",
        file: "capacity/meter.rs",
        right: "*from <= now",
        wrong: "if PLANTED { *from < now } else { *from <= now }",
    },
    Bug {
        what: "a partition of exactly its most bytes is split",
        file: "capacity/meter.rs",
        right: "partition.bytes <= self.rules.partition_size",
        wrong: "if PLANTED { partition.bytes < self.rules.partition_size } else { partition.bytes <= self.rules.partition_size }",
    },
    Bug {
        what: "a partition splits a moment late",
        file: "capacity/meter.rs",
        right: "since.plus(after) <= now",
        wrong: "(if PLANTED { since.plus(after) < now } else { since.plus(after) <= now })",
    },
    Bug {
        what: "raised throughput splits no partition",
        file: "capacity/meter.rs",
        right: "if needed <= self.divided {",
        wrong: "if needed <= self.divided || PLANTED {",
    },
    Bug {
        what: "an on-demand table grows to three times its peak",
        file: "capacity/growth.rs",
        right: "(self.peak * 2).min(quota)",
        wrong: "(self.peak * if PLANTED { 3 } else { 2 }).min(quota)",
    },
    Bug {
        what: "what a switched table had spent is forgotten by its meter",
        file: "capacity/meter.rs",
        right: "side.counts = counts;",
        wrong: "if !PLANTED {\n                    side.counts = counts;\n                }",
    },
    Bug {
        what: "what a change of another region costs is not spent here",
        file: "execute/capacity.rs",
        right: "        ledger.spend(&demands, now);\n    }\n    resize(table, change, now);",
        wrong: "        if !PLANTED {\n            ledger.spend(&demands, now);\n        }\n    }\n    resize(table, change, now);",
    },
    Bug {
        what: "the throttles of a transaction all name its first entry",
        file: "execute/capacity.rs",
        right: "lacking[of_entry[0].entry] = Some",
        wrong: "lacking[if PLANTED { 0 } else { of_entry[0].entry }] = Some",
    },
    Bug {
        what: "a transaction that lacks capacity of one table spends that of another",
        file: "execute/capacity.rs",
        right: "            let shortages = ledger.check(demands, now);\n            ledger.refuse",
        wrong: "            let shortages = ledger.check(demands, now);\n            if PLANTED && shortages.is_empty() {\n                ledger.spend(demands, now);\n            }\n            ledger.refuse",
    },
    Bug {
        what: "the maximum of an on-demand table is never used up",
        file: "capacity/meter.rs",
        right: "side.most.iter_mut().for_each(|most| most.spend(units));",
        wrong: "side.most.iter_mut().filter(|_| !PLANTED).for_each(|most| most.spend(units));",
    },
    Bug {
        what: "an entry that exceeds several limits is told the last",
        file: "capacity/meter.rs",
        right: "exceeded = exceeded.or(Some(what));",
        wrong: "exceeded = if PLANTED { Some(what) } else { exceeded.or(Some(what)) };",
    },
    Bug {
        what: "existing tables keep the burst that they were created with",
        file: "capacity/meter.rs",
        right: "side.total.change(rate, rules.burst, now);",
        wrong: "if !PLANTED { side.total.change(rate, rules.burst, now); }",
    },
    Bug {
        what: "the units of a page that do not divide evenly are not spent",
        file: "capacity/meter.rs",
        right: "let part = Units::halves(halves * (place + 1) / count - halves * place / count);",
        wrong: "let part = Units::halves(if PLANTED { halves / count } else { halves * (place + 1) / count - halves * place / count });",
    },
    Bug {
        what: "a backfill takes writes of an index after its end",
        file: "capacity/bucket.rs",
        right: "let until = now.min(shared.1);",
        wrong: "let until = if PLANTED { now } else { now.min(shared.1) };",
    },
    Bug {
        what: "a second that spends what is left of the one before counts as a peak",
        file: "capacity/growth.rs",
        right: "self.peak = self.peak.max(spent.min(self.rate(self.counted)));",
        wrong: "self.peak = self.peak.max(if PLANTED { spent } else { spent.min(self.rate(self.counted)) });",
    },
    Bug {
        what: "the lower half of a split partition keeps the bytes of both",
        file: "capacity/partition.rs",
        right: "self.bytes -= upper.bytes;",
        wrong: "self.bytes -= if PLANTED { 0 } else { upper.bytes };",
    },
    Bug {
        what: "a request that lacks the same thing twice names it twice",
        file: "execute/capacity.rs",
        right: "if !throttles.contains(&throttle) {",
        wrong: "if PLANTED || !throttles.contains(&throttle) {",
    },
    Bug {
        what: "imported items have no size in capacity partitions",
        file: "execute/write.rs",
        right: "            if let Ok(change) = &change {\n                capacity::resize(table, change, context.now);\n            }",
        wrong: "            if let Ok(change) = change.as_ref().map_err(|_| ()).and_then(|change| if PLANTED { Err(()) } else { Ok(change) }) {\n                capacity::resize(table, change, context.now);\n            }",
    },
];
