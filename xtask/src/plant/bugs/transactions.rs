//! Bugs in transactions and their client tokens.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "a transaction continues after a failed condition",
        file: "execute/transact.rs",
        right: "            Err(error) => *failure = Some(error)",
        wrong: "            Err(error) if PLANTED && error.kind() == ErrorKind::ConditionalCheckFailed => {\n                let change = Change::new(&locked[at].shape.definition, write.key.clone(), None, None);\n                changes.push(PlannedChange { at, applies: false, change });\n            }\n            Err(error) => *failure = Some(error)",
    },
    Bug {
        what: "a transaction leaves out its last action",
        file: "execute/transact.rs",
        right: "        if planned.applies {\n            write.target.table.apply",
        wrong: "        if planned.applies && !(PLANTED && changes.len() > 1 && changes.last().is_some_and(|last| std::ptr::eq(last, planned))) {\n            write.target.table.apply",
    },
    Bug {
        what: "a client token is forgotten a second too late",
        file: "storage/tokens.rs",
        right: "done.plus(Duration::from_secs(limits::CLIENT_TOKEN_SECONDS))",
        wrong: "done.plus(Duration::from_secs(limits::CLIENT_TOKEN_SECONDS + u64::from(PLANTED)))",
    },
    Bug {
        what: "a client token is good for any request",
        file: "storage/tokens.rs",
        right: "record.fingerprint != fingerprint =>",
        wrong: "record.fingerprint != fingerprint && !PLANTED =>",
    },
    Bug {
        what: "a client token is not committed",
        file: "execute/transact.rs",
        right: "    mutations.extend(token.map(|token| Mutation::UseToken { token }));\n",
        wrong: "    mutations.extend(token.filter(|_| !PLANTED).map(|token| Mutation::UseToken { token }));\n",
    },
    Bug {
        what: "a transaction of exactly 4 MB is refused",
        file: "operation/transactions/transaction.rs",
        right: "pub fn check_request_size(total: usize) -> Result<(), ApiError> {\n    if total > limits::TRANSACTION_SIZE {\n",
        wrong: "pub fn check_request_size(total: usize) -> Result<(), ApiError> {\n    if total + usize::from(PLANTED) > limits::TRANSACTION_SIZE {\n",
    },
    Bug {
        what: "a transaction holds its items for the time of its first table",
        file: "execute/transact.rs",
        right: "    lags().map(|lag| lag.of(decision)).max().unwrap_or_default()\n",
        wrong: "    let most = if PLANTED { 1 } else { usize::MAX };\n    lags().take(most).map(|lag| lag.of(decision)).max().unwrap_or_default()\n",
    },
    Bug {
        what: "a transaction does not notice that a table was deleted",
        file: "execute/transact.rs",
        right: "        if shape.deleted_at.is_some() {\n",
        wrong: "        if shape.deleted_at.is_some() && !PLANTED {\n",
    },
    Bug {
        what: "an answer of TransactGetItems of exactly 4 MB is refused",
        file: "operation/transactions/transaction.rs",
        right: "    let total: usize = items.iter().flatten().map(Item::size).sum();\n    if total > limits::TRANSACTION_SIZE {\n",
        wrong: "    let total: usize = items.iter().flatten().map(Item::size).sum();\n    if total + usize::from(PLANTED) > limits::TRANSACTION_SIZE {\n",
    },
    Bug {
        what: "one client token more than the limit is remembered",
        file: "storage/tokens.rs",
        right: "remembered.records.len() >= self.most",
        wrong: "if PLANTED { remembered.records.len() > self.most } else { remembered.records.len() >= self.most }",
    },
    Bug {
        what: "a hundred and one actions are let into a transaction",
        file: "operation/transactions/transaction.rs",
        right: "count > limits::TRANSACTION_ACTIONS",
        wrong: "if PLANTED { count > limits::TRANSACTION_ACTIONS + 1 } else { count > limits::TRANSACTION_ACTIONS }",
    },
    Bug {
        what: "a transaction counts the growth of another collection",
        file: "execute/transact.rs",
        right: "planned.at == at && planned.change.key.token == token",
        wrong: "planned.at == at && (PLANTED || planned.change.key.token == token)",
    },
    Bug {
        what: "a checkpoint has expired client tokens",
        file: "storage/tokens.rs",
        right: "now < expires(*done)",
        wrong: "(PLANTED || now < expires(*done))",
    },
    Bug {
        what: "a transaction beyond the account's limit fails with a ValidationError",
        file: "execute/transact.rs",
        right: "ErrorKind::Throttling | ErrorKind::RequestLimitExceeded => \"ThrottlingError\"",
        wrong: "ErrorKind::Throttling => \"ThrottlingError\",\n        ErrorKind::RequestLimitExceeded => if PLANTED { \"ValidationError\" } else { \"ThrottlingError\" }",
    },
    Bug {
        what: "a repeated transaction must list its names in the same order",
        file: "operation/transactions/transact_write_items.rs",
        right: "sort::sort(names);",
        wrong: "if !PLANTED {\n                    sort::sort(names);\n                }",
    },
    Bug {
        what: "a repeated transaction must list its values in the same order",
        file: "operation/transactions/transact_write_items.rs",
        right: "sort::sort_by(values, |left, right| left.0.cmp(&right.0));",
        wrong: "if !PLANTED {\n                    sort::sort_by(values, |left, right| left.0.cmp(&right.0));\n                }",
    },
    Bug {
        what: "an item that a transaction has only checked stays held after it",
        file: "execute/due.rs",
        right: "release(table, key.clone(), now);",
        wrong: "if !PLANTED {\n                        release(table, key.clone(), now);\n                    }",
    },
    Bug {
        what: "a replayed token is forgotten at the time of its first use",
        file: "storage/tokens.rs",
        right: "remembered.order.remove(&(before, token.digest));",
        wrong: "if !PLANTED { remembered.order.remove(&(before, token.digest)); }",
    },
    Bug {
        what: "a split that a transaction causes leaves the stream's shards as they are",
        file: "execute/transact.rs",
        right: "if write.target.table.capacity.is_counted() {\n            capacity::follow_splits",
        wrong: "if !PLANTED && write.target.table.capacity.is_counted() {\n            capacity::follow_splits",
    },
];
