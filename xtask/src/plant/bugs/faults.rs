//! Bugs in fault rules and metrics.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "a rule acts at the first moment after its time",
        file: "fault.rs",
        right: "report.from <= subject.now && subject.now < report.until",
        wrong: "if PLANTED { report.from <= subject.now && subject.now <= report.until } else { report.from <= subject.now && subject.now < report.until }",
    },
    Bug {
        what: "a rule for some time is counted from its installation on",
        file: "fault/rule.rs",
        right: "self.lasting.map(|length| from.max(added).plus(length))",
        wrong: "self.lasting.map(|length| if PLANTED { added } else { from.max(added) }.plus(length))",
    },
    Bug {
        what: "a rule ignores its region",
        file: "fault/rule.rs",
        right: "is(&self.region, subject.region)",
        wrong: "(PLANTED || is(&self.region, subject.region))",
    },
    Bug {
        what: "as many fault rules as there may be are refused",
        file: "fault.rs",
        right: "installed.rules.len().saturating_add(rules.len()) > most",
        wrong: "installed.rules.len().saturating_add(rules.len()) + usize::from(PLANTED) > most",
    },
    Bug {
        what: "transaction conflicts of earlier minutes are not counted",
        file: "journal/counts.rs",
        right: "self.conflicts += more.conflicts;",
        wrong: "self.conflicts += if PLANTED { 0 } else { more.conflicts };",
    },
    Bug {
        what: "iterator ages of earlier minutes are not counted",
        file: "journal/counts.rs",
        right: "sum.age.merge(more.age);",
        wrong: "if !PLANTED { sum.age.merge(more.age); }",
    },
    Bug {
        what: "a rule ignores its access key",
        file: "fault/rule.rs",
        right: "&& is(&self.caller, subject.caller)",
        wrong: "&& (PLANTED || is(&self.caller, subject.caller))",
    },
    Bug {
        what: "a rule for a prefix of a partition key matches it anywhere",
        file: "fault/rule.rs",
        right: ".is_some_and(|partition| partition.starts_with(text.as_str()))",
        wrong: ".is_some_and(|partition| if PLANTED { partition.contains(text.as_str()) } else { partition.starts_with(text.as_str()) })",
    },
    Bug {
        what: "new conditions replace those of single tables",
        file: "execute/control.rs",
        right: "self.apply_conditions(&scope, &table);",
        wrong: "if PLANTED { table.set_conditions(&conditions, self.clock.now()); } else { self.apply_conditions(&scope, &table); }",
    },
    Bug {
        what: "a part of an outage lasts as long as the outage",
        file: "fault/outage.rs",
        right: "Some(wanted.min(most))",
        wrong: "Some(if PLANTED { wanted } else { wanted.min(most) })",
    },
    Bug {
        what: "a rule for an index matches every write of a table with indexes",
        file: "fault/rule.rs",
        right: "self.feeds.iter().any(|fed| fed.name == index)",
        wrong: "self.feeds.iter().any(|fed| PLANTED || fed.name == index)",
    },
    Bug {
        what: "an injected error belongs to the first entry",
        file: "journal/recorder.rs",
        right: ".position(|(_, error)| Some(*error) == access.error);",
        wrong: ".position(|(_, error)| PLANTED || Some(*error) == access.error);",
    },
    Bug {
        what: "a meter subtracts what the table had spent from its indexes",
        file: "engine/watch.rs",
        right: "then.table == now.table && then.index == now.index;",
        wrong: "then.table == now.table && (PLANTED || then.index == now.index);",
    },
    Bug {
        what: "of many removed rules that never acted the newest is forgotten",
        file: "fault.rs",
        right: "self.idle.pop_front();",
        wrong: "if PLANTED {\n                    self.idle.pop_back();\n                } else {\n                    self.idle.pop_front();\n                }",
    },
    Bug {
        what: "the share of a rule counts the requests of all callers together",
        file: "fault.rs",
        right: "happens(self.seed, \"rule\", id, shares.next(subject.owner, id), share)",
        wrong: "happens(self.seed, \"rule\", id, shares.next(if PLANTED { 0 } else { subject.owner }, id), share)",
    },
    Bug {
        what: "the share of a rule depends on the rules before a removal of all",
        file: "fault.rs",
        right: "subject.id(self.seed, \"rule\", report.id.0 - cleared)",
        wrong: "subject.id(self.seed, \"rule\", report.id.0 - if PLANTED { 0 } else { cleared })",
    },
    Bug {
        what: "a throttle of a local index names the index",
        file: "execute/authorize.rs",
        right: "let index = index.filter(|name| definition.globals.iter().any(|global| global.name == *name));",
        wrong: "let index = index.filter(|name| PLANTED || definition.globals.iter().any(|global| global.name == *name));",
    },
    Bug {
        what: "of the waits of several calls of a batch the last counts",
        file: "context/mod.rs",
        right: "effects.still.held = effects.still.held.saturating_add(by)",
        wrong: "effects.still.held = if PLANTED { by } else { effects.still.held.saturating_add(by) }",
    },
];
