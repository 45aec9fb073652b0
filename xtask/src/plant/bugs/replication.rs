//! Bugs in global tables.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "two writes of the same moment in two regions are not ordered",
        file: "storage/replication/version.rs",
        right: "(self.time, self.sequence) < (other.time, other.sequence)",
        wrong: "if PLANTED { self.time < other.time } else { (self.time, self.sequence) < (other.time, other.sequence) }",
    },
    Bug {
        what: "a region that has seen exactly a write is taken to conflict with it",
        file: "storage/replication/version.rs",
        right: "*last >= other.sequence",
        wrong: "(if PLANTED { *last > other.sequence } else { *last >= other.sequence })",
    },
    Bug {
        what: "a write in a region takes the place of what it had seen of another",
        file: "storage/replication/version.rs",
        right: "let mut seen = before.map(|before| before.seen.clone()).unwrap_or_default();",
        wrong: "let mut seen = before.filter(|_| !PLANTED).map(|before| before.seen.clone()).unwrap_or_default();",
    },
    Bug {
        what: "a write is dated before the version it replaces",
        file: "storage/replication/version.rs",
        right: "before.map_or(stamp.time, |before| stamp.time.max(before.stamp.time))",
        wrong: "before.filter(|_| !PLANTED).map_or(stamp.time, |before| stamp.time.max(before.stamp.time))",
    },
    Bug {
        what: "a removed replica exists for a moment longer",
        file: "storage/replica/state.rs",
        right: "self.removal.is_none_or(|removal| removal.gone_at > now)",
        wrong: "if PLANTED { self.removal.is_none_or(|removal| removal.gone_at >= now) } else { self.removal.is_none_or(|removal| removal.gone_at > now) }",
    },
    Bug {
        what: "a group of one replica counts as global",
        file: "storage/replica/state.rs",
        right: "self.replicas.iter().filter(|replica| replica.is_there(now)).count() > 1",
        wrong: "if PLANTED { !self.replicas.is_empty() } else { self.replicas.iter().filter(|replica| replica.is_there(now)).count() > 1 }",
    },
    Bug {
        what: "the claim of a strong write ends at once",
        file: "execute/strong.rs",
        right: "if done > context.now {\n        table.keep_claim",
        wrong: "if done > context.now && !PLANTED {\n        table.keep_claim",
    },
    Bug {
        what: "a region with a witness counts as alone",
        file: "execute/strong.rs",
        right: "(group.state().witness.is_none() && are_cut_off())",
        wrong: "((PLANTED || group.state().witness.is_none()) && are_cut_off())",
    },
    Bug {
        what: "the latency of replication ends when an arrival is noticed",
        file: "execute/due.rs",
        right: "let latency = at.since(arrival.happened);",
        wrong: "let latency = if PLANTED { now } else { at }.since(arrival.happened);",
    },
    Bug {
        what: "an arrival is applied before a transaction that ends at the same moment",
        file: "storage/partition.rs",
        right: "&& next < contents.next_transaction_end()",
        wrong: "&& (PLANTED || next < contents.next_transaction_end())",
    },
    Bug {
        what: "copied items have no size in capacity partitions",
        file: "storage/replication/mod.rs",
        right: "ledger.weigh(key.token, item.size());",
        wrong: "ledger.weigh(key.token, if PLANTED { 0 } else { item.size() });",
    },
    Bug {
        what: "items that are copied to a new replica lose their versions",
        file: "storage/replica/copy.rs",
        right: "version(key).unwrap_or_default()",
        wrong: "version(key).filter(|_| !PLANTED).unwrap_or_default()",
    },
    Bug {
        what: "a strong write does not extend the claim of another one",
        file: "storage/replication/claims.rs",
        right: "if until > claim.until {",
        wrong: "if until > claim.until && !(PLANTED && claim.writers > 0) {",
    },
    Bug {
        what: "due work of a region is not noticed in the others",
        file: "storage/replication/mod.rs",
        right: "self.host().wakes.add(&peer.scope);",
        wrong: "if !PLANTED {\n                self.host().wakes.add(&peer.scope);\n            }",
    },
    Bug {
        what: "writes after a restart are older than those before it",
        file: "storage/replication/mod.rs",
        right: "self.host().writes.fetch_max(version.stamp.sequence, Ordering::Relaxed);",
        wrong: "if !PLANTED {\n            self.host().writes.fetch_max(version.stamp.sequence, Ordering::Relaxed);\n        }",
    },
    Bug {
        what: "queued changes settle before replication is resumed",
        file: "storage/replication/inbox.rs",
        right: "let last = source.waiting.keys().next_back();
            last.map(|(arrives, _)| (*arrives).max(source.resumed))",
        wrong: "let last = source.waiting.keys().next_back();
            last.map(|(arrives, _)| if PLANTED { *arrives } else { (*arrives).max(source.resumed) })",
    },
    Bug {
        what: "arriving writes are not added to a table's own consumption",
        file: "execute/gauges.rs",
        right: "Some(metric) => metric.value += units.as_f64(),",
        wrong: "Some(metric) => metric.value += if PLANTED { 0.0 } else { units.as_f64() },",
    },
    Bug {
        what: "a table that has lost its other regions is still strongly consistent",
        file: "execute/strong.rs",
        right: "&& !group.peers(table.ordinal).is_empty()",
        wrong: "&& (PLANTED || !group.peers(table.ordinal).is_empty())",
    },
    Bug {
        what: "writes that arrive have no size in capacity partitions",
        file: "execute/capacity.rs",
        right: "resize(table, change, now);",
        wrong: "if !PLANTED {\n        resize(table, change, now);\n    }",
    },
    Bug {
        what: "the log leaves out that a deletion by time to live is replicated",
        file: "execute/item_events.rs",
        right: "replication_events(table, shape, change, |kind| events.record_due(at, kind));",
        wrong: "if !PLANTED {\n        replication_events(table, shape, change, |kind| events.record_due(at, kind));\n    }",
    },
    Bug {
        what: "a replica that leaves takes the number of its group with it",
        file: "operation/tables/update_table/replicas/disassociate.rs",
        right: "group.id = other.table;",
        wrong: "group.id = if PLANTED { group.id } else { other.table };",
    },
    Bug {
        what: "one of two replicas is deleted though the other is protected",
        file: "operation/tables/update_table/replicas/delete.rs",
        right: "found.filter(|table| table.shape().definition.deletion_protection)",
        wrong: "found.filter(|table| !PLANTED && table.shape().definition.deletion_protection)",
    },
    Bug {
        what: "the scaling of a removed replica is shown",
        file: "operation/global_tables/auto_scaling.rs",
        right: "replica.is_there(now) && now",
        wrong: "(PLANTED || replica.is_there(now)) && now",
    },
    Bug {
        what: "a replica leaves before the writes of the others have arrived",
        file: "operation/tables/update_table/replicas/disassociate.rs",
        right: "other.settled_at(own).max(table.settled_at(&other.scope.region))",
        wrong: "other\n                .settled_at(own)\n                .max(if PLANTED { now } else { table.settled_at(&other.scope.region) })",
    },
    Bug {
        what: "a change of the encryption stays in its region",
        file: "storage/replica/synchronize.rs",
        right: "if is_encrypted(before) != is_encrypted(after) {",
        wrong: "if is_encrypted(before) != is_encrypted(after) && !PLANTED {",
    },
    Bug {
        what: "a region that is resumed reaches one that is cut off",
        file: "execute/replication.rs",
        right: "None => is_strong || paused || !peer.is_cut_off()",
        wrong: "None => is_strong || paused || PLANTED || !peer.is_cut_off()",
    },
    Bug {
        what: "a region that is cut off answers strongly consistent queries",
        file: "execute/page.rs",
        right: "if read.consistent && read.target.table.is_replica() {",
        wrong: "if !PLANTED && read.consistent && read.target.table.is_replica() {",
    },
    Bug {
        what: "a replica that is gone still counts as fed by its source",
        file: "storage/replica/state.rs",
        right: "let there = self.replicas.iter().filter(move |replica| replica.is_there(now));\n        there.filter(move |replica| replica.source.as_deref() == Some(region))",
        wrong: "let there = self.replicas.iter().filter(move |replica| PLANTED || replica.is_there(now));\n        there.filter(move |replica| replica.source.as_deref() == Some(region))",
    },
];
