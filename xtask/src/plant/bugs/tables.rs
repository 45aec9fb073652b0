//! Bugs in table operations, settings and quotas.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "time to live deletes a minute before its time",
        file: "storage/settings.rs",
        right: "Some(Moment::from_seconds(seconds).plus(lag.of(decision)))",
        wrong: "Some(Moment::from_seconds(seconds - 60 * i64::from(PLANTED)).plus(lag.of(decision)))",
    },
    Bug {
        what: "time to live leaves alone what expired exactly five years ago",
        file: "storage/settings.rs",
        right: "self.expires(item)? < now.seconds() - limits::TTL_OLDEST_SECONDS",
        wrong: "self.expires(item)? < now.seconds() - limits::TTL_OLDEST_SECONDS + i64::from(PLANTED)",
    },
    Bug {
        what: "a resource policy is enforced a microsecond late",
        file: "execute/permit.rs",
        right: "now < policy.changed.plus(wait)",
        wrong: "if PLANTED { now <= policy.changed.plus(wait) } else { now < policy.changed.plus(wait) }",
    },
    Bug {
        what: "expire_now leaves alone what expires this second",
        file: "storage/settings.rs",
        right: "now.seconds() - limits::TTL_OLDEST_SECONDS..=now.seconds()",
        wrong: "now.seconds() - limits::TTL_OLDEST_SECONDS..=now.seconds() - i64::from(PLANTED)",
    },
    Bug {
        what: "time to live can be changed again a moment too late",
        file: "operation/tables/update_time_to_live.rs",
        right: "last.plus(COOLDOWN) > now",
        wrong: "if PLANTED { last.plus(COOLDOWN) >= now } else { last.plus(COOLDOWN) > now }",
    },
    Bug {
        what: "one table more than the quota is let in",
        file: "operation/tables/create_table/quota.rs",
        right: "count < limits::TABLES",
        wrong: "if PLANTED { count <= limits::TABLES } else { count < limits::TABLES }",
    },
    Bug {
        what: "the most units that a table may have are refused",
        file: "operation/tables/create_table/quota.rs",
        right: "units > most as u64",
        wrong: "if PLANTED { units >= most as u64 } else { units > most as u64 }",
    },
    Bug {
        what: "one table operation more than the limit is let in",
        file: "operation/tables/account.rs",
        right: "busy.count() >= limits::TABLE_OPERATIONS",
        wrong: "if PLANTED { busy.count() > limits::TABLE_OPERATIONS } else { busy.count() >= limits::TABLE_OPERATIONS }",
    },
    Bug {
        what: "one creation of a table with indexes more than the limit is let in",
        file: "operation/tables/account.rs",
        right: "indexed >= limits::INDEXED_TABLE_OPERATIONS",
        wrong: "(if PLANTED { indexed > limits::INDEXED_TABLE_OPERATIONS } else { indexed >= limits::INDEXED_TABLE_OPERATIONS })",
    },
    Bug {
        what: "the account's units are used up one unit early",
        file: "operation/tables/account.rs",
        right: "reserved.saturating_add(more) > limits::ACCOUNT_UNITS as u64",
        wrong: "(if PLANTED { reserved.saturating_add(more) >= limits::ACCOUNT_UNITS as u64 } else { reserved.saturating_add(more) > limits::ACCOUNT_UNITS as u64 })",
    },
    Bug {
        what: "a vector may have one dimension too many",
        file: "operation/tables/create_table/vector.rs",
        right: "(1..=limits::VECTOR_DIMENSIONS).contains(&dimensions)",
        wrong: "(if PLANTED { (1..=limits::VECTOR_DIMENSIONS + 1).contains(&dimensions) } else { (1..=limits::VECTOR_DIMENSIONS).contains(&dimensions) })",
    },
    Bug {
        what: "a twenty-first global index is let in",
        file: "operation/tables/create_table/definition.rs",
        right: "globals.len() > limits::GLOBAL_INDEXES",
        wrong: "if PLANTED { globals.len() > limits::GLOBAL_INDEXES + 1 } else { globals.len() > limits::GLOBAL_INDEXES }",
    },
    Bug {
        what: "a hundred projected attributes are refused",
        file: "operation/tables/create_table/definition.rs",
        right: "projected > limits::PROJECTED_ATTRIBUTES",
        wrong: "if PLANTED { projected >= limits::PROJECTED_ATTRIBUTES } else { projected > limits::PROJECTED_ATTRIBUTES }",
    },
    Bug {
        what: "twenty attributes of a projection are refused",
        file: "operation/tables/create_table/shape.rs",
        right: "names.len() > 20",
        wrong: "if PLANTED { names.len() >= 20 } else { names.len() > 20 }",
    },
    Bug {
        what: "a twenty-first global index is let in by an update",
        file: "operation/tables/update_table/indexes.rs",
        right: "self.shape.definition.globals.len() >= limits::GLOBAL_INDEXES",
        wrong: "if PLANTED { self.shape.definition.globals.len() > limits::GLOBAL_INDEXES } else { self.shape.definition.globals.len() >= limits::GLOBAL_INDEXES }",
    },
    Bug {
        what: "a decrease is refused an hour after the last",
        file: "operation/tables/update_table/throughput.rs",
        right: "next <= now",
        wrong: "if PLANTED { next < now } else { next <= now }",
    },
    Bug {
        what: "a fifth free decrease is let in",
        file: "operation/tables/update_table/throughput.rs",
        right: "count >= FREE_DECREASES",
        wrong: "(if PLANTED { count > FREE_DECREASES } else { count >= FREE_DECREASES })",
    },
    Bug {
        what: "the encryption can be changed again a moment too late",
        file: "operation/tables/update_table/settings.rs",
        right: "next <= now",
        wrong: "(if PLANTED { next < now } else { next <= now })",
    },
    Bug {
        what: "deletion protection can be changed again a moment too late",
        file: "operation/tables/update_table/settings.rs",
        right: "self.takes_time() && *again > now",
        wrong: "if PLANTED { self.takes_time() && *again >= now } else { self.takes_time() && *again > now }",
    },
    Bug {
        what: "a resource policy can be changed again a moment too late",
        file: "operation/policies/mod.rs",
        right: "context.now < again",
        wrong: "if PLANTED { context.now <= again } else { context.now < again }",
    },
    Bug {
        what: "an index that is being deleted has no counts",
        file: "storage/table/census.rs",
        right: "in &shape.leaving {",
        wrong: "in shape.leaving.iter().filter(|_| !PLANTED) {",
    },
    Bug {
        what: "an expected revision is ignored for a stream",
        file: "operation/policies/mod.rs",
        right: "expected.filter(|expected| *expected != there)",
        wrong: "expected.filter(|expected| *expected != there && !(PLANTED && resource.stream.is_some()))",
    },
    Bug {
        what: "raised reads with unchanged writes count as a decrease",
        file: "operation/tables/update_table/throughput.rs",
        right: "requested.write < was.write",
        wrong: "requested.write < was.write + u64::from(PLANTED)",
    },
    Bug {
        what: "a change of the table class is forgotten a moment too late",
        file: "operation/tables/update_table/settings.rs",
        right: "last.plus(CLASS_WINDOW) > now",
        wrong: "last.plus(CLASS_WINDOW) > if PLANTED { now.minus(std::time::Duration::from_micros(1)) } else { now }",
    },
    Bug {
        what: "a snapshot forgets the conditions of single tables",
        file: "storage/state/checkpoint.rs",
        right: "for ((scope, table), conditions) in self.defaults().tables() {",
        wrong: "for ((scope, table), conditions) in self.defaults().tables().into_iter().filter(|_| !PLANTED) {",
    },
    Bug {
        what: "reading a stream has the latency of control operations",
        file: "conditions.rs",
        right: "\"GetItem\" | \"BatchGetItem\" | \"GetShardIterator\" | \"GetRecords\" => self.read,",
        wrong: "\"GetRecords\" if PLANTED => self.control,
            \"GetItem\" | \"BatchGetItem\" | \"GetShardIterator\" | \"GetRecords\" => self.read,",
    },
];
