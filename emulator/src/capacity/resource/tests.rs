//! Tests of the buckets and partitions of one resource.

use super::*;

const NONE: Throughput = Throughput { read: 0, write: 0 };

fn after(seconds: u64) -> Moment {
    Moment::START.plus(Duration::from_secs(seconds))
}

fn provisioned(read: u64, write: u64) -> Limits {
    Limits {
        billing: BillingMode::Provisioned,
        throughput: Throughput { read, write },
        warm: NONE,
        most: OnDemandThroughput::default(),
    }
}

fn on_demand(read: u64, write: u64) -> Limits {
    Limits {
        billing: BillingMode::PayPerRequest,
        throughput: NONE,
        warm: Throughput { read, write },
        most: OnDemandThroughput::default(),
    }
}

fn warm(limits: Limits, read: u64, write: u64) -> Limits {
    Limits {
        warm: Throughput { read, write },
        ..limits
    }
}

fn resource(limits: Limits) -> ResourceCapacity {
    ResourceCapacity::new(limits, Enforcement::AWS, Moment::START)
}

fn starts(resource: &ResourceCapacity) -> Vec<u64> {
    resource.partitions().iter().map(|partition| partition.first).collect()
}

/// Halves of units that each partition has written.
fn written(resource: &ResourceCapacity) -> Vec<u64> {
    let partitions = resource.partitions();
    partitions
        .iter()
        .map(|partition| partition.write.units.in_halves())
        .collect()
}

#[test]
fn the_number_of_partitions_follows_throughput() {
    for (limits, count) in [
        (provisioned(1, 1), 1),
        // What is provisioned is divided by what a partition does of both together.
        (provisioned(1500, 500), 1),
        (provisioned(1500, 501), 2),
        (provisioned(1501, 500), 2),
        (provisioned(3000, 1000), 2),
        (provisioned(9000, 0), 3),
        (provisioned(0, 4000), 4),
        (provisioned(u64::MAX, u64::MAX), MOST_PARTITIONS),
        // What is warm, by what it does of each.
        (on_demand(3000, 1000), 1),
        (on_demand(3001, 1000), 2),
        (on_demand(3000, 1001), 2),
        (on_demand(12_000, 4000), 4),
        (warm(provisioned(1, 1), 12_000, 4000), 4),
        (warm(provisioned(1, 1), 1, 4001), 5),
        (warm(provisioned(0, 4000), 1, 1000), 4),
    ] {
        assert_eq!(resource(limits).partitions().len(), count, "{limits:?}");
    }
}

#[test]
fn partitions_divide_the_tokens() {
    let quarter = 1 << 62;
    let even = resource(on_demand(12_000, 4000));
    assert_eq!(starts(&even), [0, quarter, 2 * quarter, 3 * quarter]);
    let ends: Vec<u64> = even.partitions().iter().map(|partition| partition.last).collect();
    assert_eq!(ends, [quarter - 1, 2 * quarter - 1, 3 * quarter - 1, u64::MAX]);
    // Partitions are never merged.
    let mut grown = resource(provisioned(1, 1));
    grown.set_limits(provisioned(9000, 0), after(1), after(1));
    grown.set_limits(provisioned(1, 1), after(2), after(2));
    assert_eq!(starts(&grown).len(), 3);
}

#[test]
fn raised_throughput_divides_the_tokens_as_if_it_had_always_been_so() {
    for (before, raised, count) in [
        (provisioned(0, 3900), provisioned(0, 11_900), 12),
        (provisioned(1, 1), provisioned(9000, 0), 3),
        (provisioned(0, 3000), provisioned(0, 4000), 6),
        (on_demand(12_000, 4000), on_demand(12_000, 12_000), 12),
        (on_demand(12_000, 4000), on_demand(12_000, 5000), 8),
        (provisioned(1, 1), provisioned(u64::MAX, 1), MOST_PARTITIONS),
        (provisioned(0, 3000), provisioned(u64::MAX, 1), MOST_PARTITIONS),
    ] {
        let mut raised_meter = resource(before);
        raised_meter.set_limits(raised, after(1), after(1));
        let partitions = raised_meter.partitions();
        assert_eq!(partitions.len(), count, "{before:?} {raised:?}");
        let widest = partitions.iter().map(|each| each.last - each.first).max().unwrap();
        let new = resource(raised).partitions();
        let widest_new = new.iter().map(|each| each.last - each.first).max().unwrap();
        // With the maximum number of partitions, three parts cannot be divided as evenly as one.
        let slack = if count == MOST_PARTITIONS { widest_new / 2 } else { 0 };
        assert!(
            widest <= widest_new + slack,
            "{before:?} {raised:?}: {widest} {widest_new}"
        );
        // A single partition is divided where those of a new table begin.
        if resource(before).partitions().len() == 1 {
            assert_eq!(
                starts(&raised_meter),
                starts(&resource(raised)),
                "{before:?} {raised:?}"
            );
        }
    }
}

/// What an on-demand resource serves doubles after a peak, of reads as of writes, and so do its partitions.
#[test]
fn grown_throughput_divides_the_tokens() {
    let quarter = 1 << 62;
    for (direction, peak) in [(Direction::Read, 12_000), (Direction::Write, 4000)] {
        let mut resource = resource(on_demand(12_000, 4000));
        for at in 0..4 {
            resource.spend(direction, at * quarter, Units::whole(peak / 4), after(0));
        }
        let growth = Enforcement::AWS.growth.as_secs();
        let seen = [0, 1, 1 + growth / 2, 1 + growth, 1 + 2 * growth].map(|second| {
            resource.settle(after(second));
            (resource.rate(direction) / peak, resource.partitions().len())
        });
        let grown = (2, 8);
        assert_eq!(seen, [(1, 4), (1, 4), (1, 8), grown, grown], "{direction:?}");
        assert_eq!(starts(&resource)[7], 7 * (quarter / 2), "{direction:?}");
    }
}

#[test]
fn heat_that_has_split_a_partition_does_not_leave_another_one_wide() {
    let rules = Enforcement {
        partition_size: 100,
        ..Enforcement::AWS
    };
    let mut resource = ResourceCapacity::new(provisioned(0, 2000), rules, Moment::START);
    // The first of two is split again and again for its size.
    for _ in 0..6 {
        resource.resize(0, 0, 101, Moment::START);
    }
    resource.set_limits(provisioned(0, 4000), after(1), after(1));
    let quarter = 1_u64 << 62;
    assert!(
        resource
            .partitions()
            .iter()
            .all(|each| each.last - each.first < quarter)
    );
}

#[test]
fn a_page_is_paid_by_the_partitions_it_walked_over() {
    let quarter = 1 << 62;
    for (walk, halves, expect) in [
        ((0, u64::MAX), 10, [2, 3, 2, 3]),
        ((0, u64::MAX), 1, [0, 0, 0, 1]),
        ((quarter, 2 * quarter), 6, [0, 3, 3, 0]),
        ((quarter, 2 * quarter - 1), 6, [0, 6, 0, 0]),
        ((quarter, u64::MAX), 4, [0, 1, 1, 2]),
        ((5, 5), 3, [3, 0, 0, 0]),
        ((u64::MAX, 0), 3, [0, 0, 0, 3]),
    ] {
        let mut resource = resource(on_demand(12_000, 4000));
        resource.spend_page(Direction::Write, walk, Units::halves(halves), Moment::START);
        assert_eq!(written(&resource), expect, "{walk:?}");
        assert_eq!(resource.counts(Direction::Write).units, Units::halves(halves));
        assert_eq!(
            resource.left(Direction::Write),
            Units::whole(4000).without(Units::halves(halves))
        );
        assert_eq!(resource.counts(Direction::Read).units, Units::ZERO);
    }
}

#[test]
fn a_partition_that_is_too_large_is_split_in_the_middle() {
    let rules = Enforcement {
        partition_size: 100,
        ..Enforcement::AWS
    };
    let mut resource = ResourceCapacity::new(provisioned(1, 1), rules, Moment::START);
    resource.weigh(3, 60);
    assert_eq!(resource.resize(7, 0, 40, Moment::START), None);
    assert_eq!(resource.resize(7, 40, 30, Moment::START), None);
    assert_eq!(resource.resize(7, 30, 41, Moment::START), Some(1 << 63));
    let bytes: Vec<u64> = resource.partitions().iter().map(|partition| partition.bytes).collect();
    assert_eq!((starts(&resource), bytes), (vec![0, 1 << 63], vec![51, 50]));
    assert_eq!(resource.resize(u64::MAX, 0, 51, Moment::START), Some(3 << 62));
}

/// Size splits a partition until it has one token, which is not divided.
#[test]
fn a_partition_of_one_token_is_not_split() {
    let rules = Enforcement {
        partition_size: 100,
        ..Enforcement::AWS
    };
    for token in [0, 1, u64::MAX] {
        let mut resource = ResourceCapacity::new(provisioned(1, 1), rules, Moment::START);
        let splits = (0..80).filter(|_| resource.resize(token, 0, 1000, Moment::START).is_some());
        assert_eq!(splits.count(), 64, "{token}");
        let of_token = |each: &PartitionHeat| (each.first, each.last) == (token, token);
        assert_eq!(
            resource.partitions().iter().filter(|each| of_token(each)).count(),
            1,
            "{token}"
        );
    }
}

#[test]
fn of_two_changes_the_later_holds_at_the_earlier_time() {
    let mut resource = resource(provisioned(5, 5));
    resource.set_limits(provisioned(6, 6), after(10), after(0));
    resource.set_limits(provisioned(7, 7), after(20), after(1));
    resource.settle(after(9));
    assert_eq!(resource.rate(Direction::Read), 5);
    resource.settle(after(10));
    assert_eq!(
        (resource.rate(Direction::Read), resource.rate(Direction::Write)),
        (7, 7)
    );
    resource.set_limits(on_demand(50, 60), after(11), after(11));
    assert_eq!(resource.billing(), BillingMode::PayPerRequest);
    assert_eq!(
        (resource.rate(Direction::Read), resource.rate(Direction::Write)),
        (50, 60)
    );
}

#[test]
fn what_is_exceeded() {
    let most = OnDemandThroughput {
        max_read: Some(3),
        max_write: None,
    };
    for (limits, direction, units, expect) in [
        (provisioned(5, 4), Direction::Read, 5, None),
        (provisioned(5, 4), Direction::Write, 4, None),
        (
            provisioned(5, 4),
            Direction::Write,
            5,
            Some(Exceeded::ProvisionedThroughput),
        ),
        (on_demand(5, 4), Direction::Write, 5, Some(Exceeded::KeyRangeThroughput)),
        (
            on_demand(40_000, 39_999),
            Direction::Read,
            40_001,
            Some(Exceeded::AccountLimit),
        ),
        (
            on_demand(40_000, 39_999),
            Direction::Write,
            40_000,
            Some(Exceeded::KeyRangeThroughput),
        ),
        // A partition is empty before its table.
        (
            provisioned(9000, 9000),
            Direction::Write,
            1001,
            Some(Exceeded::KeyRangeThroughput),
        ),
        (
            Limits {
                most,
                ..on_demand(5, 4)
            },
            Direction::Read,
            4,
            Some(Exceeded::MaxOnDemandThroughput),
        ),
        (
            Limits {
                most,
                ..on_demand(5, 4)
            },
            Direction::Write,
            4,
            None,
        ),
    ] {
        let mut resource = resource(limits);
        resource.spend(direction, 0, Units::whole(units - 1), Moment::START);
        resource.request(direction, 0, Units::whole(1), 2, Moment::START);
        assert_eq!(
            resource.exceeds(direction, 0, Units::whole(1)),
            expect,
            "{limits:?} {units}"
        );
    }
}

#[test]
fn spent_units_accrue_again() {
    let most = OnDemandThroughput {
        max_read: Some(5),
        max_write: None,
    };
    let limited = Limits {
        most,
        ..on_demand(5, 5)
    };
    for limits in [provisioned(5, 5), on_demand(5, 5), limited] {
        let mut resource = resource(limits);
        resource.spend(Direction::Read, 0, Units::whole(5), Moment::START);
        for (second, round, enough) in [(0, 1, false), (1, 2, true)] {
            resource.request(Direction::Read, 0, Units::whole(5), round, after(second));
            let exceeds = resource.exceeds(Direction::Read, 0, Units::whole(5));
            assert_eq!(exceeds.is_none(), enough, "{limits:?}");
        }
    }
}

#[test]
fn partitions_have_even_shares_where_they_do_not_lend() {
    let small = Enforcement {
        partition_read: 10,
        partition_write: 10,
        ..Enforcement::AWS
    };
    for (limits, adaptive, enough) in [
        (provisioned(0, 34), true, true),
        (provisioned(0, 34), false, false),
        (on_demand(0, 34), true, true),
        (on_demand(0, 34), false, true),
    ] {
        let mut resource = ResourceCapacity::new(limits, Enforcement { adaptive, ..small }, Moment::START);
        assert_eq!(resource.partitions().len(), 4);
        resource.spend(Direction::Write, 0, Units::whole(9), Moment::START);
        resource.request(Direction::Write, 0, Units::whole(1), 1, Moment::START);
        let exceeds = resource.exceeds(Direction::Write, 0, Units::whole(1));
        assert_eq!(exceeds.is_none(), enough, "{limits:?} {adaptive}");
    }
}

#[test]
fn heat_that_lasts_splits() {
    let ten = Some(Duration::from_secs(10));
    let (full, key_range) = (10, Exceeded::KeyRangeThroughput);
    for (heat_split, spent, exceeded, tokens, splits) in [
        (ten, full, key_range, [5, 9], Some(9)),
        (ten, full, key_range, [5, 5], None),
        (ten, 0, key_range, [5, 9], None),
        (ten, full, Exceeded::ProvisionedThroughput, [5, 9], None),
        (None, full, key_range, [5, 9], None),
    ] {
        let rules = Enforcement {
            partition_write: 10,
            heat_split,
            ..Enforcement::AWS
        };
        let mut resource = ResourceCapacity::new(provisioned(0, 10), rules, Moment::START);
        resource.spend(Direction::Write, 5, Units::whole(spent), Moment::START);
        for second in 0..=10 {
            let token = tokens[second as usize % 2];
            let split = resource.refuse(Direction::Write, token, Units::whole(1), exceeded, after(second));
            assert_eq!(split, splits.filter(|_| second == 10), "{second}");
        }
        assert_eq!(resource.counts(Direction::Write).throttles(exceeded), 11);
        assert_eq!(resource.partitions().len(), 1 + usize::from(splits.is_some()));
    }
}

/// A page heats each partition that it reads at a token of that partition, wherever it begins.
#[test]
fn pages_heat_partitions_at_their_own_tokens() {
    let rules = Enforcement {
        partition_read: 10,
        heat_split: Some(Duration::ZERO),
        ..Enforcement::AWS
    };
    let mut resource = ResourceCapacity::new(provisioned(20, 0), rules, Moment::START);
    assert_eq!(starts(&resource), [0, 1 << 63]);
    for first in [5, 7] {
        resource.spend_page(Direction::Read, (first, u64::MAX), Units::whole(40), Moment::START);
    }
    // Both pages have read the second partition from its start.
    let token = (1 << 63) + 9;
    let exceeded = Exceeded::KeyRangeThroughput;
    let split = resource.refuse(Direction::Read, token, Units::whole(1), exceeded, Moment::START);
    assert_eq!(split, Some(token));
}

/// Heat counts where any bucket of the partition is exhausted: its share, or its own limit.
#[test]
fn heat_at_a_share_splits() {
    for (adaptive, spent, splits) in [
        // A share of 9 units, a quarter of 34 rounded up, is exhausted before the limit of 10.
        (false, 9, true),
        (false, 8, false),
        (true, 9, false),
        (true, 10, true),
    ] {
        let rules = Enforcement {
            adaptive,
            partition_write: 10,
            heat_split: Some(Duration::from_secs(10)),
            ..Enforcement::AWS
        };
        let mut resource = ResourceCapacity::new(provisioned(0, 34), rules, Moment::START);
        resource.spend(Direction::Write, 5, Units::whole(spent), Moment::START);
        let mut split = None;
        for second in 0..=10 {
            let token = [5, 9][second as usize % 2];
            let exceeded = Exceeded::KeyRangeThroughput;
            split = resource.refuse(Direction::Write, token, Units::whole(1), exceeded, after(second));
        }
        assert_eq!(split, Some(9).filter(|_| splits), "{adaptive} {spent}");
    }
}

#[test]
fn the_number_of_partitions_is_bounded() {
    let rules = Enforcement {
        partition_size: 1,
        ..Enforcement::AWS
    };
    let mut resource = ResourceCapacity::new(provisioned(u64::MAX, u64::MAX), rules, Moment::START);
    assert_eq!(resource.resize(0, 0, 2, Moment::START), None);
    assert_eq!(resource.partitions().len(), MOST_PARTITIONS);
}

#[test]
fn a_page_needs_available_units() {
    let mut resource = resource(provisioned(5, 5));
    assert_eq!(resource.exceeds_any(Direction::Read, 0, Moment::START), None);
    resource.spend(Direction::Read, 0, Units::whole(5), Moment::START);
    let exceeds = |second| ResourceCapacity::clone(&resource).exceeds_any(Direction::Read, 0, after(second));
    assert_eq!(exceeds(0), Some(Exceeded::ProvisionedThroughput));
    assert_eq!(exceeds(1), None);
}

#[test]
fn lower_limits_apply_at_once() {
    let mut resource = resource(provisioned(5, 5));
    resource.settle(after(100));
    assert_eq!(resource.left(Direction::Read), Units::whole(505));
    let rules = Enforcement {
        burst: Duration::from_secs(2),
        ..Enforcement::AWS
    };
    resource.set_rules(rules, after(100));
    assert_eq!(resource.left(Direction::Read), Units::whole(10));
    assert_eq!(resource.rate(Direction::Read), 5);
}

/// Each rule applies from its change on.
#[test]
fn changed_rules_apply_from_now_on() {
    let exceeds = |resource: &mut ResourceCapacity| resource.exceeds_any(Direction::Write, 0, after(1));
    let changed = |limits: Limits, rules: Enforcement| {
        let mut resource = resource(limits);
        resource.set_rules(rules, after(1));
        resource
    };
    // The limits of a partition, and with them the number of partitions.
    let small = Enforcement {
        partition_read: 20,
        partition_write: 10,
        ..Enforcement::AWS
    };
    assert_eq!(changed(provisioned(40, 20), small).partitions().len(), 4);
    assert_eq!(changed(on_demand(1, 34), small).partitions().len(), 4);
    let mut limited = changed(provisioned(0, 34), small);
    limited.spend(Direction::Write, 0, Units::whole(10), after(1));
    assert_eq!(exceeds(&mut limited), Some(Exceeded::KeyRangeThroughput));
    // Whether partitions lend.
    let rigid = Enforcement {
        adaptive: false,
        ..small
    };
    let mut rigid = changed(provisioned(0, 15), rigid);
    rigid.spend(Direction::Write, 0, Units::whole(8), after(1));
    assert_eq!(exceeds(&mut rigid), Some(Exceeded::KeyRangeThroughput));
    rigid.set_rules(small, after(1));
    assert_eq!(exceeds(&mut rigid), None, "a partition that lends has no share");
    // Units that accumulate: on demand, none.
    let burst = Duration::from_secs(7);
    for (limits, most) in [(provisioned(5, 5), 35), (on_demand(5, 5), 5)] {
        let mut resource = changed(
            limits,
            Enforcement {
                burst,
                ..Enforcement::AWS
            },
        );
        resource.settle(after(100));
        assert_eq!(resource.left(Direction::Read), Units::whole(most), "{limits:?}");
    }
    // The size at which a partition is split, and the heat.
    let split = Enforcement {
        partition_size: 100,
        partition_write: 10,
        heat_split: Some(Duration::ZERO),
        ..Enforcement::AWS
    };
    assert_eq!(
        changed(provisioned(1, 1), split).resize(0, 0, 101, after(1)),
        Some(1 << 63)
    );
    let mut hot = changed(provisioned(0, 10), split);
    hot.spend(Direction::Write, 5, Units::whole(10), after(1));
    let mut refuse = |token| {
        hot.refuse(
            Direction::Write,
            token,
            Units::whole(1),
            Exceeded::KeyRangeThroughput,
            after(1),
        )
    };
    assert_eq!([refuse(5), refuse(9)], [None, Some(9)]);
    // How long an on-demand table takes to grow.
    let growth = Duration::from_secs(10);
    let mut growing = changed(
        on_demand(4000, 4000),
        Enforcement {
            growth,
            ..Enforcement::AWS
        },
    );
    growing.spend(Direction::Write, 0, Units::whole(4000), after(1));
    growing.settle(after(2));
    growing.settle(after(7));
    assert_eq!(growing.rate(Direction::Write), 6000);
    growing.settle(after(12));
    assert_eq!(growing.rate(Direction::Write), 8000);
    assert_eq!(growing.rate(Direction::Read), 4000);
}

#[test]
fn warm_throughput_is_served_from_its_moment_on() {
    for (warm, rate) in [(9, 9), (5, 5), (3, 5)] {
        let mut resource = resource(on_demand(5, 5));
        resource.set_limits(on_demand(warm, 5), after(10), after(2));
        let rates = [9, 10].map(|second| {
            resource.settle(after(second));
            Direction::BOTH.map(|direction| resource.rate(direction))
        });
        assert_eq!(rates, [[5, 5], [rate, 5]], "{warm}");
    }
    let mut resource = resource(on_demand(5, 5));
    resource.spend(Direction::Read, 0, Units::whole(25), after(0));
    resource.set_limits(on_demand(9, 5), after(1), after(0));
    resource.settle(after(3));
    // Of the debt of 20 units, 5 were paid in the first second, and 9 in each of the next two.
    assert_eq!(resource.left(Direction::Read), Units::whole(3));
}

/// The backfill of an index has half of the provisioned write units, and nothing of the reads or of an on-demand index.
#[test]
fn a_backfill_has_half_of_the_provisioned_writes() {
    for (limits, halved) in [(provisioned(10, 10), true), (on_demand(10, 10), false)] {
        let mut resource = resource(limits);
        resource.share_with_backfill(after(0), after(10), after(0));
        for direction in Direction::BOTH {
            resource.spend(direction, 0, Units::whole(10), after(0));
        }
        resource.settle(after(1));
        let writes = if halved { 5 } else { 10 };
        assert_eq!(resource.left(Direction::Read), Units::whole(10), "{limits:?}");
        assert_eq!(resource.left(Direction::Write), Units::whole(writes), "{limits:?}");
        // A table that becomes provisioned during the backfill has half from then on.
        resource.set_limits(provisioned(20, 20), after(1), after(1));
        resource.spend(Direction::Write, 0, resource.left(Direction::Write), after(1));
        resource.settle(after(2));
        assert_eq!(resource.left(Direction::Write), Units::whole(10), "{limits:?}");
        resource.spend(Direction::Write, 0, Units::whole(10), after(2));
        resource.settle(after(10));
        resource.spend(Direction::Write, 0, resource.left(Direction::Write), after(10));
        resource.settle(after(11));
        assert_eq!(resource.left(Direction::Write), Units::whole(20), "{limits:?}");
    }
}

/// The bucket of an on-demand maximum keeps its level when the maximum changes, and goes with it.
#[test]
fn an_on_demand_maximum_changes_and_goes() {
    let limits = |max_read: Option<i64>| Limits {
        most: OnDemandThroughput {
            max_read,
            max_write: None,
        },
        ..on_demand(12_000, 4000)
    };
    let mut resource = resource(limits(Some(10)));
    resource.spend(Direction::Read, 0, Units::whole(8), Moment::START);
    for (max_read, expect) in [
        (Some(20), Some((2, 20))),
        (Some(1), Some((1, 1))),
        (None, None),
        (Some(5), Some((5, 5))),
        (None, None),
    ] {
        resource.set_limits(limits(max_read), Moment::START, Moment::START);
        let level = resource.maximum(Direction::Read);
        let expect = expect.map(|(left, size)| (Units::whole(left), Units::whole(size)));
        assert_eq!(level.map(|level| (level.left, level.size)), expect, "{max_read:?}");
        assert_eq!(resource.maximum(Direction::Write), None);
    }
}
