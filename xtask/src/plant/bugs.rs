//! The bugs that are planted, and where.

use std::fs;

use crate::patch::replaced;
use crate::shell::{Outcome, root};

/// A bug: code of the engine, and its replacement.
pub struct Bug {
    /// The effect of the bug.
    pub what: &'static str,
    /// The file, in `emulator/src`.
    pub file: &'static str,
    /// The replaced code, which occurs once in the file.
    pub right: &'static str,
    /// The replacement, which has the same effect while `PLANTED` is false.
    pub wrong: &'static str,
}

/// The text of a file of the engine with all of its bugs, each inactive.
pub fn planted(file: &str) -> Outcome<String> {
    let path = root().join("emulator/src").join(file);
    let mut text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    for (number, bug) in BUGS.iter().enumerate().filter(|(_, bug)| bug.file == file) {
        let wrong = bug.wrong.replace("PLANTED", &format!("crate::planted::is({number})"));
        text = replaced(&text, bug.right, &wrong).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(text)
}

pub const BUGS: &[Bug] = &[
    Bug {
        what: "`<` holds for what is greater",
        file: "expression/condition.rs",
        right: "Operator::Lt => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_lt)",
        wrong: "Operator::Lt => compare(&seen(0), &seen(1)).is_some_and(if PLANTED { Ordering::is_gt } else { Ordering::is_lt })",
    },
    Bug {
        what: "BETWEEN leaves out its upper end",
        file: "expression/condition.rs",
        right: "compare(&value, &seen(2)).is_some_and(Ordering::is_le)",
        wrong: "compare(&value, &seen(2)).is_some_and(if PLANTED { Ordering::is_lt } else { Ordering::is_le })",
    },
    Bug {
        what: "`size` of a text counts its bytes",
        file: "expression/condition.rs",
        right: "text.chars().map(char::len_utf16).sum()",
        wrong: "text.chars().map(|char| if PLANTED { char.len_utf8() } else { char.len_utf16() }).sum()",
    },
    Bug {
        what: "a negative number costs no byte for its sign",
        file: "number.rs",
        right: "as usize + usize::from(self.negative)",
        wrong: "as usize + usize::from(self.negative && !PLANTED)",
    },
    Bug {
        what: "an element of a list costs no byte of its own",
        file: "size.rs",
        right: "list.iter().map(|element| 1 +",
        wrong: "list.iter().map(|element| usize::from(!PLANTED) +",
    },
    Bug {
        what: "an item that is updated may be one byte larger than the limit",
        file: "execute/write.rs",
        right: "item.size().max(charge) > limits::ITEM_SIZE",
        wrong: "item.size().max(charge) > limits::ITEM_SIZE + usize::from(PLANTED)",
    },
    Bug {
        what: "the gate of UpdateItem forgets what its expression weighs",
        file: "execute/write.rs",
        right: "let weighed = charged && update",
        wrong: "let weighed = charged && !PLANTED && update",
    },
    Bug {
        what: "a condition that fails shows the item though nobody asked",
        file: "execute/write.rs",
        right: "old.filter(|_| self.show_item).cloned()",
        wrong: "old.filter(|_| self.show_item || PLANTED).cloned()",
    },
    Bug {
        what: "a write lets go of its partition between condition and change",
        file: "execute/write.rs",
        right: "    if let Ok(change) = &change {\n        if write",
        wrong: "    if let Ok(change) = &change {\n        if PLANTED {\n            drop(guard);\n            std::thread::sleep(std::time::Duration::from_millis(1));\n            guard = partition.write();\n        }\n        if write",
    },
    Bug {
        what: "a transaction goes on though a condition has failed",
        file: "execute/transact.rs",
        right: "            Err(error) => *failure = Some(error)",
        wrong: "            Err(error) if PLANTED && error.kind() == ErrorKind::ConditionalCheckFailed => {\n                changes.push((at, false, Change::new(&locked[at].2.definition, write.key.clone(), None, None)));\n            }\n            Err(error) => *failure = Some(error)",
    },
    Bug {
        what: "a transaction leaves out its last action",
        file: "execute/transact.rs",
        right: "        if *applies {\n            write.target.table.apply",
        wrong: "        if *applies && !(PLANTED && changes.len() > 1 && changes.last().is_some_and(|last| std::ptr::eq(&last.2, change))) {\n            write.target.table.apply",
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
        what: "a read in a transaction costs as much as one outside",
        file: "plan/read.rs",
        right: ".times(self.factor)",
        wrong: ".times(if PLANTED { 1 } else { self.factor })",
    },
    Bug {
        what: "a strongly consistent read may be stale",
        file: "execute/stale.rs",
        right: "    if !consistent {\n",
        wrong: "    if !consistent || PLANTED {\n",
    },
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
        what: "an entry that moves in an index costs one write, not two",
        file: "change.rs",
        right: "units::write(old.size()) + units::write(new.size());",
        wrong: "if PLANTED { units::write(old.size().max(new.size())) } else { units::write(old.size()) + units::write(new.size()) };",
    },
    Bug {
        what: "what is spent of a table's capacity is taken off once only in a hundred times",
        file: "capacity/bucket.rs",
        right: "        self.level -= grains(units);\n",
        wrong: "        self.level -= if PLANTED { grains(units) / 100 } else { grains(units) };\n",
    },
    Bug {
        what: "an item that leaves a global index stays in it",
        file: "change.rs",
        right: "(Some((key, item)), None) => (Some(key), None, units::write(item.size())),",
        wrong: "(Some((key, item)), None) => (Some(key).filter(|_| !PLANTED), None, units::write(item.size())),",
    },
    Bug {
        what: "an entry that moves in an index leaves its old one behind",
        file: "change.rs",
        right: "(Some(old_key), Some((new_key, new)), units)",
        wrong: "(Some(old_key).filter(|_| !PLANTED), Some((new_key, new)), units)",
    },
    Bug {
        what: "local indexes are not told of new entries",
        file: "storage/partition.rs",
        right: "            if let Some((key, item)) = &arm.insert {\n",
        wrong: "            if let Some((key, item)) = &arm.insert\n                && !PLANTED\n            {\n",
    },
    Bug {
        what: "a read of an index does not wait for what is on its way",
        file: "storage/index.rs",
        right: "        self.drain(now);\n        read(&self.entries.read().map)",
        wrong: "        if !PLANTED {\n            self.drain(now);\n        }\n        read(&self.entries.read().map)",
    },
    Bug {
        what: "an index that is to have some attributes has only keys",
        file: "schema.rs",
        right: "                    || names.binary_search_by(|candidate| candidate.as_str().cmp(name)).is_ok()\n",
        wrong: "                    || (!PLANTED && names.binary_search_by(|candidate| candidate.as_str().cmp(name)).is_ok())\n",
    },
    Bug {
        what: "a stream has no record of what is removed",
        file: "storage/stream/record.rs",
        right: "            (None, None) => return None,\n",
        wrong: "            (None, None) => return None,\n            (Some(_), None) if PLANTED => return None,\n",
    },
    Bug {
        what: "a stream has a record of a write that changes nothing",
        file: "storage/stream/record.rs",
        right: "if old == new => return None,\n",
        wrong: "if old == new && !PLANTED => return None,\n",
    },
    Bug {
        what: "a record of time to live looks as anybody's",
        file: "storage/stream/record.rs",
        right: "expired: change.cause == Cause::TimeToLive",
        wrong: "expired: change.cause == Cause::TimeToLive && !PLANTED",
    },
    Bug {
        what: "a stream that shows old images shows none",
        file: "storage/stream/record.rs",
        right: "filter(|_| view.shows_old())",
        wrong: "filter(|_| view.shows_old() && !PLANTED)",
    },
    Bug {
        what: "time to live deletes a minute before its time",
        file: "storage/settings.rs",
        right: "Some(Moment::from_seconds(seconds).plus(lag.of(decision)))",
        wrong: "Some(Moment::from_seconds(seconds - 60 * i64::from(PLANTED)).plus(lag.of(decision)))",
    },
    Bug {
        what: "a transaction that is carried out later commits none of its changes",
        file: "execute/due.rs",
        right: "                .chain([Mutation::of_change(table.ordinal, &change)])\n",
        wrong: "                .chain([Mutation::of_change(table.ordinal, &change)])\n                .filter(|mutation| !PLANTED || cause == Cause::TimeToLive || matches!(mutation, Mutation::ReleaseItem { .. }))\n",
    },
    Bug {
        what: "a checkpoint forgets the changes on their way to an index",
        file: "storage/index.rs",
        right: "        let (waiting, delays) = queue.save();\n",
        wrong: "        let (mut waiting, delays) = queue.save();\n        if PLANTED {\n            waiting.clear();\n        }\n",
    },
    Bug {
        what: "a client token is not committed",
        file: "execute/transact.rs",
        right: "    mutations.extend(token.map(|token| Mutation::UseToken { token }));\n",
        wrong: "    mutations.extend(token.filter(|_| !PLANTED).map(|token| Mutation::UseToken { token }));\n",
    },
    Bug {
        what: "an item that was given a longer life dies at its old time",
        file: "storage/partition.rs",
        right: "        if let Some(due) = change.old.as_ref().and_then(|old| shape.expiry(&change.key, old)) {\n",
        wrong: "        if let Some(due) = change.old.as_ref().and_then(|old| shape.expiry(&change.key, old))\n            && !PLANTED\n        {\n",
    },
    Bug {
        what: "PartiQL's `<=` means `<`",
        file: "partiql/condition.rs",
        right: "            lexer::Operator::Le => Operator::Le,\n",
        wrong: "            lexer::Operator::Le if PLANTED => Operator::Lt,\n            lexer::Operator::Le => Operator::Le,\n",
    },
    Bug {
        what: "PartiQL's OR means AND",
        file: "partiql/condition.rs",
        right: "        Ok(Lowered::Logic(if and {\n",
        wrong: "        Ok(Lowered::Logic(if and || PLANTED {\n",
    },
    Bug {
        what: "the next page begins with the last item of the one before",
        file: "storage/range.rs",
        right: "            self.lower = Bound::Excluded(key);\n",
        wrong: "            self.lower = if PLANTED { Bound::Included(key) } else { Bound::Excluded(key) };\n",
    },
    Bug {
        what: "the next page, walking backwards, begins with the last item of the one before",
        file: "storage/range.rs",
        right: "            self.upper = Bound::Excluded(key);\n",
        wrong: "            self.upper = if PLANTED { Bound::Included(key) } else { Bound::Excluded(key) };\n",
    },
    Bug {
        what: "a page has one item more than its limit",
        file: "storage/range.rs",
        right: "self.items.len() >= limit.items",
        wrong: "self.items.len() >= limit.items.saturating_add(usize::from(PLANTED))",
    },
    Bug {
        what: "a segment of a parallel Scan reads the next one too",
        file: "storage/range.rs",
        right: "upper: start(segment.at + 1).map_or(",
        wrong: "upper: start(segment.at + 1 + u64::from(PLANTED)).map_or(",
    },
    Bug {
        what: "UPDATED_OLD shows the new values",
        file: "operation/items/single_write.rs",
        right: "        ReturnValues::AllOld | ReturnValues::UpdatedOld => &change.old,\n",
        wrong: "        ReturnValues::UpdatedOld if PLANTED => &change.new,\n        ReturnValues::AllOld | ReturnValues::UpdatedOld => &change.old,\n",
    },
    Bug {
        what: "DELETE leaves what it should take out of a set, and takes the rest",
        file: "expression/update.rs",
        right: "operand.binary_search(member).is_err()",
        wrong: "operand.binary_search(member).is_err() != PLANTED",
    },
    Bug {
        what: "`list_append` puts its operands the other way round",
        file: "expression/update.rs",
        right: "                    return Ok(Cow::Owned(appended(left, list(&right)?)));\n",
        wrong: "                    if PLANTED {\n                        return Ok(Cow::Owned(appended(list(&right)?, left)));\n                    }\n                    return Ok(Cow::Owned(appended(left, list(&right)?)));\n",
    },
    Bug {
        what: "of two positions of a list that are removed together the second is miscounted",
        file: "expression/update.rs",
        right: "                at += 1;\n",
        wrong: "                at += usize::from(keep || !PLANTED);\n",
    },
    Bug {
        what: "a number has 37 digits at most",
        file: "number.rs",
        right: "        if digits > MAX_DIGITS {\n",
        wrong: "        if digits > MAX_DIGITS - u32::from(PLANTED) {\n",
    },
    Bug {
        what: "zero bytes in keys are not escaped",
        file: "key.rs",
        right: "    if !has_zero(prefix) {\n",
        wrong: "    if PLANTED || !has_zero(prefix) {\n",
    },
    Bug {
        what: "`begins_with` of a binary compares only the first byte",
        file: "expression/condition.rs",
        right: "(AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),",
        wrong: "(AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix.get(..1).filter(|_| PLANTED).unwrap_or(prefix)),",
    },
    Bug {
        what: "a transaction of exactly 4 MB is refused",
        file: "operation/transactions/transact_write_items.rs",
        right: "    if total > limits::TRANSACTION_SIZE {\n",
        wrong: "    if total + usize::from(PLANTED) > limits::TRANSACTION_SIZE {\n",
    },
    Bug {
        what: "time to live leaves alone what expired exactly five years ago",
        file: "storage/settings.rs",
        right: "self.expires(item)? < now.seconds() - limits::TTL_OLDEST_SECONDS",
        wrong: "self.expires(item)? < now.seconds() - limits::TTL_OLDEST_SECONDS + i64::from(PLANTED)",
    },
    Bug {
        what: "an incremental export includes a change at its end",
        file: "storage/recovery.rs",
        right: "        let mut items = items.clone();\n        self.roll_back(&mut items, |at| at >= to);\n",
        wrong: "        let to = to.plus(std::time::Duration::from_micros(u64::from(PLANTED)));\n        let mut items = items.clone();\n        self.roll_back(&mut items, |at| at >= to);\n",
    },
    Bug {
        what: "`expire_now` deletes an item that a transaction holds",
        file: "execute/due.rs",
        right: "expired && !contents.is_marked(key)",
        wrong: "expired && (PLANTED || !contents.is_marked(key))",
    },
    Bug {
        what: "a transaction holds its items as long as its first table says",
        file: "execute/transact.rs",
        right: "    dials().map(|dial| dial.of(decision)).max().unwrap_or_default()\n",
        wrong: "    let most = if PLANTED { 1 } else { usize::MAX };\n    dials().take(most).map(|dial| dial.of(decision)).max().unwrap_or_default()\n",
    },
    Bug {
        what: "a page of a global index is charged by the tokens of the table's keys",
        file: "execute/page.rs",
        right: "match read.index().filter(|index| !index.local) {",
        wrong: "match read.index().filter(|index| !index.local && !PLANTED) {",
    },
    Bug {
        what: "a transaction does not notice that a table was deleted",
        file: "execute/transact.rs",
        right: "        if shape.deleted_at.is_some() {\n",
        wrong: "        if shape.deleted_at.is_some() && !PLANTED {\n",
    },
    Bug {
        what: "an index entry that moves is charged only where it goes",
        file: "change.rs",
        right: "|key| part(key.token, arm.removal)",
        wrong: "|key| part(if PLANTED { arm.insert.as_ref().map_or(key.token, |(new, _)| new.token) } else { key.token }, arm.removal)",
    },
    Bug {
        what: "an answer of TransactGetItems of exactly 4 MB is refused",
        file: "operation/transactions/transaction.rs",
        right: "    if total > limits::TRANSACTION_SIZE {\n",
        wrong: "    if total + usize::from(PLANTED) > limits::TRANSACTION_SIZE {\n",
    },
    Bug {
        what: "a restore leaves out what happened at its moment",
        file: "storage/snapshot.rs",
        right: "|at| at > moment",
        wrong: "|at| at > moment || PLANTED && at == moment",
    },
];
