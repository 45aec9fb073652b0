//! The patches that remove locks.

use std::fs;

use crate::patch::replaced;
use crate::shell::{Outcome, root};

/// Returns the patched content of a patch's file.
pub fn patched(patch: &Patch) -> Outcome<String> {
    let path = root().join("emulator").join(patch.file);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", patch.file))?;
    replaced(&text, patch.locked, patch.unlocked).map_err(|error| format!("{}: {error}", patch.file))
}

/// A change of one place in the source, and the models that must detect it.
pub struct Patch {
    /// The lock that is removed.
    pub what: &'static str,
    /// The file, in the engine's folder.
    pub file: &'static str,
    /// The replaced code, which occurs once in the file.
    pub locked: &'static str,
    pub unlocked: &'static str,
    /// The models of this lock.
    pub models: &'static [&'static str],
}

pub const PATCHES: &[Patch] = &[
    Patch {
        what: "the partition's lock, from the condition to the change's application",
        file: "src/execute/write.rs",
        locked: "    let mut committed = None;\n",
        unlocked: "    drop(guard);\n    let mut change = { let seen = partition.read(); write.change(shape, &seen, &names, 0) };\n    let mut guard = partition.write();\n    let mut committed = None;\n",
        models: &[
            "a_conditional_put_has_one_winner",
            "no_increment_is_lost",
            "the_records_of_an_item_are_in_order",
        ],
    },
    Patch {
        what: "a transaction's locks, before it has applied everything",
        file: "src/execute/transact.rs",
        locked: "    for (planned, write) in of_writes() {\n        let LockedPartition {\n            contents,\n            shape,\n            partition,\n            ..\n        } = &mut locked[planned.at];\n",
        unlocked: "    struct Unlocked<'w> { shape: Arc<Shape>, partition: &'w Partition }\n    let mut locked: Vec<_> = locked.drain(..).map(|each| Unlocked { shape: each.shape, partition: each.partition }).collect();\n    for (planned, write) in of_writes() {\n        let Unlocked { shape, partition } = &mut locked[planned.at];\n        let contents = &mut partition.write();\n",
        models: &["a_transaction_is_never_observed_in_part"],
    },
    Patch {
        what: "a transactional read's locks, before it has read everything",
        file: "src/execute/read.rs",
        locked: "    let items: Vec<Option<Item>> = gets.iter().map(read).collect();\n    drop(guards);\n    spend_all",
        unlocked: "    let _ = read;\n    drop(guards);\n    let items: Vec<Option<Item>> = gets.iter().map(|get| {\n        let table = &get.target.table;\n        due::read(table, table.partition(place(get).1), context.now).get(&get.key).cloned()\n    }).collect();\n    spend_all",
        models: &["a_transaction_is_never_observed_in_part"],
    },
    Patch {
        what: "the order of a transaction's locks",
        file: "src/execute/transact.rs",
        locked: "    sort::sort_by_key(&mut places, |(place, _)| *place);\n",
        unlocked: "",
        models: &["transactions_in_opposite_order_do_not_block_each_other"],
    },
    Patch {
        what: "the lock of the client tokens, between lookup and insertion",
        file: "src/storage/tokens.rs",
        locked: "        if remembered.records.len() >= self.most {",
        unlocked: "        drop(remembered);\n        let mut remembered = self.remembered.lock();\n        if remembered.records.len() >= self.most {",
        models: &["a_transaction_with_a_token_is_applied_once"],
    },
    Patch {
        what: "the lock of an index's queue, while its front is applied",
        file: "src/storage/index.rs",
        locked: "        self.arrive(&mut self.queue.lock(), now);\n    }\n",
        unlocked: "        let mut queue = self.queue.lock();\n        let mut taken = Vec::new();\n        while let Some(arrival) = queue.pop(now) {\n            taken.push(arrival.update);\n        }\n        self.waiting.store(queue.len(), Ordering::Release);\n        drop(queue);\n        let mut entries = self.entries.write();\n        taken.into_iter().for_each(|update| entries.apply(update));\n    }\n",
        models: &[
            "a_read_of_an_index_sees_the_writes_before_it",
            "an_index_converges_to_its_item",
            "a_vector_index_converges_to_its_item",
        ],
    },
    Patch {
        what: "the publication of due work, before the partition is unlocked",
        file: "src/storage/partition.rs",
        locked: "        self.lower_due(contents);\n        contents.apply(shape, change, now);\n        self.publish_due(contents);\n",
        unlocked: "        contents.apply(shape, change, now);\n",
        models: &["due_work_is_never_observed"],
    },
    Patch {
        what: "the publication of due work, before an index can return its items",
        file: "src/storage/partition.rs",
        locked: "        self.lower_due(contents);\n        contents.apply(shape, change, now);\n",
        unlocked: "        contents.apply(shape, change, now);\n",
        models: &["an_index_shows_nothing_due"],
    },
    Patch {
        what: "the lock of an index's queue, while it checks whether something is due",
        file: "src/storage/index.rs",
        locked: "            let mut queue = self.queue.lock();\n            self.arrive(&mut queue, now);\n            if is_due() {\n",
        unlocked: "            self.arrive(&mut self.queue.lock(), now);\n            let quiet = !is_due();\n            self.arrive(&mut self.queue.lock(), now);\n            if !quiet {\n",
        models: &["an_index_shows_nothing_due"],
    },
    Patch {
        what: "a transaction's locks, before it holds all its items",
        file: "src/execute/transact.rs",
        locked: "    for planned in changes {\n        let LockedPartition {\n            contents, partition, ..\n        } = &mut locked[planned.at];\n",
        unlocked: "    let locked: Vec<_> = locked.drain(..).map(|each| each.partition).collect();\n    for planned in changes {\n        let partition = locked[planned.at];\n        let contents = &mut partition.write();\n",
        models: &["one_of_two_conflicting_transactions_succeeds"],
    },
    Patch {
        what: "the check for due work after the lock is taken",
        file: "src/execute/due.rs",
        locked: "        if !precedes_reads(table, partition, now) {\n            return guard;\n        }\n    }\n",
        unlocked: "        return guard;\n    }\n",
        models: &["due_work_is_never_observed"],
    },
    Patch {
        what: "the moment at which a read hid an item",
        file: "src/execute/due.rs",
        locked: "    if hides {\n        partition.raise_due_by(now);\n    }\n",
        unlocked: "",
        models: &["a_hidden_item_is_not_observed_again"],
    },
    Patch {
        what: "the epoch, by which a write notices that its table has changed since it was planned",
        file: "src/execute/write.rs",
        locked: "    if guard.epoch != shape.epoch {",
        unlocked: "    if false {",
        models: &["a_write_planned_before_time_to_live_was_enabled_expires"],
    },
    Patch {
        what: "the lock of a region's tables, between looking up and creating one",
        file: "src/operation/tables/create_table.rs",
        locked: "    tables.insert(&table, context.now)?;\n",
        unlocked: "    drop(tables);\n    let mut tables = region.tables.write();\n    tables.insert(&table, context.now)?;\n",
        models: &["a_table_is_created_once"],
    },
    Patch {
        what: "the lock of a table's ledger, between looking and spending",
        file: "src/execute/capacity.rs",
        locked: "    let Some(ledger) = ledger.as_mut() else { return Ok(()) };\n    ledger\n        .reserve(demands, context.now)\n",
        unlocked: "    let Some(there) = ledger.as_mut() else { return Ok(()) };\n    let shortages = there.check(demands, context.now);\n    drop(ledger);\n    let mut ledger = table.capacity.lock();\n    let Some(there) = ledger.as_mut() else { return Ok(()) };\n    let reserved = if shortages.is_empty() {\n        there.spend(demands, context.now);\n        Ok(())\n    } else {\n        Err(shortages)\n    };\n    reserved\n",
        models: &["no_unit_of_capacity_is_spent_twice"],
    },
    Patch {
        what: "the lock of the fault rules, between counting and deciding",
        file: "src/fault.rs",
        locked: "        let mut installed = self.rules.lock();\n        let cleared = installed.cleared;\n        let InstalledRules { rules, shares, .. } = &mut *installed;\n        for report in rules {\n            let is_time = report.from <= subject.now && subject.now < report.until;\n            if !is_time || !report.rule.matches(subject) {\n                continue;\n            }\n            report.matched += 1;\n",
        unlocked: "        let cleared = 0;\n        let (mut copied, shares) = (self.rules.lock().rules.clone(), &mut OrdinalCounts::default());\n        copied.iter_mut().filter(|report| report.rule.matches(subject)).for_each(|report| report.matched += 1);\n        self.rules.lock().rules.clone_from(&copied);\n        for report in &mut copied {\n            let is_time = report.from <= subject.now && subject.now < report.until;\n            if !is_time || !report.rule.matches(subject) {\n                continue;\n            }\n",
        models: &["a_fault_rule_acts_once"],
    },
    Patch {
        what: "the partitions' locks, while a shard of the stream is read",
        file: "src/execute/due.rs",
        locked: "        let locked: Vec<_> = partitions.iter().map(Partition::read).collect();\n",
        unlocked: "        let locked = Vec::<RwLockReadGuard<'_, Contents>>::new();\n",
        models: &[
            "a_stream_has_all_records_of_a_transaction_or_none",
            "a_shard_of_two_partitions_has_all_records_of_a_transaction_or_none",
            "a_reader_of_a_stream_finds_a_due_deletion",
        ],
    },
    Patch {
        what: "the atomicity of the next sequence number",
        file: "src/storage/stream/sequence.rs",
        locked: "        Sequence(self.sequence.fetch_add(1, Ordering::Relaxed))\n",
        unlocked: "        let number = self.sequence.load(Ordering::Relaxed);\n        self.sequence.store(number + 1, Ordering::Relaxed);\n        Sequence(number)\n",
        models: &["a_sequence_number_is_used_once"],
    },
    Patch {
        what: "the partition's lock, while a change and its inverse are recorded",
        file: "src/execute/write.rs",
        locked: "            table.apply(&committed, partition, &mut guard, shape, change);\n        }\n        drop(guard);\n",
        unlocked: "            let mut taken = std::mem::take(&mut *guard);\n            drop(guard);\n            table.apply(&committed, partition, &mut taken, shape, change);\n            *partition.write() = taken;\n        }\n",
        models: &[
            "a_stale_read_returns_one_state",
            "a_write_beside_a_new_replica_reaches_it",
        ],
    },
    Patch {
        what: "the lock of the moments that callers have observed, between reading and recording",
        file: "src/context/readers.rs",
        locked: "        let entry = seen.entry(reader).or_insert((state, now));\n        *entry = (entry.0.max(state).min(present), entry.1.max(now));\n        entry.0\n",
        unlocked: "        let (before, _) = *seen.entry(reader).or_insert((state, now));\n        drop(seen);\n        let after = before.max(state).min(present);\n        self.0.lock().insert(reader, (after, now));\n        after\n",
        models: &["monotonic_reads_never_go_back"],
    },
    Patch {
        what: "the lock of an index's queue, between checking whether it is paused and the arrival of changes",
        file: "src/storage/index.rs",
        locked: "        self.arrive(&mut self.queue.lock(), now);\n    }\n",
        unlocked: "        if self.queue.lock().paused {\n            return;\n        }\n        let mut queue = self.queue.lock();\n        let paused = std::mem::replace(&mut queue.paused, false);\n        self.arrive(&mut queue, now);\n        queue.paused = paused;\n    }\n",
        models: &["a_paused_index_does_not_change"],
    },
    Patch {
        what: "the order of a transaction's ledgers",
        file: "src/execute/capacity.rs",
        locked: "        let mut locked: Vec<_> = tables\n",
        unlocked: "        let mut tables: Vec<(&Table, Demands<'_>)> = tables.collect();\n        tables.sort_by_key(|(_, demands)| demands[0].entry);\n        let mut locked: Vec<_> = tables\n            .into_iter()\n",
        models: &["transactions_on_two_ledgers_do_not_block_each_other"],
    },
    Patch {
        what: "the lock of an inbox, between its change and the publication of the next arrival",
        file: "src/storage/replication/inbox.rs",
        locked: "        let result = change(sources.get_or_default(source));\n        self.publish(&sources);\n        result\n",
        unlocked: "        let result = change(sources.get_or_default(source));\n        let next = sources.values().map(RegionQueue::next).min().unwrap_or(Moment::NEVER);\n        drop(sources);\n        self.next.store(next.micros(), Ordering::Release);\n        result\n",
        models: &["no_arrival_is_missed"],
    },
    Patch {
        what: "the partition's lock, while a change arrives at an item that is read",
        file: "src/execute/due.rs",
        locked: "    run_with(table, &shape, (partition, &mut guard), (&arrived, now), |_| Vec::new());\n    drop(guard);\n",
        unlocked: "    let mut taken = std::mem::take(&mut *guard);\n    drop(guard);\n    run_with(table, &shape, (partition, &mut taken), (&arrived, now), |_| Vec::new());\n    *partition.write() = taken;\n",
        models: &["a_read_beside_a_step_finds_what_has_arrived"],
    },
    Patch {
        what: "the atomicity of the numbers of writes to global tables",
        file: "src/storage/replication/mod.rs",
        locked: "            sequence: self.host().writes.fetch_add(1, Ordering::Relaxed) + 1,\n",
        unlocked: "            sequence: {\n                let last = self.host().writes.load(Ordering::Relaxed);\n                self.host().writes.store(last + 1, Ordering::Relaxed);\n                last + 1\n            },\n",
        models: &["regions_that_write_one_item_agree_in_the_end"],
    },
    Patch {
        what: "the claims by which the writes of strongly consistent regions exclude one another",
        file: "src/execute/strong.rs",
        locked: "    let claims = group.claims();\n",
        unlocked: "    let claims = &Default::default();\n    let _ = [claims, group.claims()];\n",
        models: &["a_conditional_put_in_two_regions_has_one_winner"],
    },
    Patch {
        what: "the turn in which strongly consistent regions apply writes",
        file: "src/storage/replication/claims.rs",
        locked: "pub fn take_turn(&self) -> MutexGuard<'_, ()> {\n        self.turn.lock()\n    }\n",
        unlocked: "pub fn take_turn(&self) -> bool {\n        drop::<MutexGuard<'_, ()>>(self.turn.lock());\n        true\n    }\n",
        models: &["strongly_consistent_regions_have_the_same_records"],
    },
    Patch {
        what: "the lock of issued sessions, between counting and adding one",
        file: "src/access/control.rs",
        locked: "        let mut state = self.state.write();\n        let count = state.count;\n",
        unlocked: "        let count = self.state.read().count;\n        let mut state = self.state.write();\n",
        models: &["an_access_key_is_issued_once"],
    },
    Patch {
        what: "the lock of access control, between finding a key and the policies",
        file: "src/access/control.rs",
        locked: "        let state = self.state.read();\n        self.is_configured().then(|| KnownKey {\n            directory: state.directory.clone(),\n            credential: state.credential(access_key_id).cloned(),\n        })\n",
        unlocked: "        let credential = self.state.read().credential(access_key_id).cloned();\n        let directory = self.state.read().directory.clone();\n        self.is_configured().then_some(KnownKey { directory, credential })\n",
        models: &["a_request_is_decided_by_one_configuration"],
    },
    Patch {
        what: "the lock of the commit log, between numbering a commit and appending it",
        file: "src/storage/commit/log.rs",
        locked: "                self.append_next(sink, &mut commit)?;\n",
        unlocked: "                let sink = Arc::clone(sink);\n                drop(turn);\n                self.append_next(&sink, &mut commit)?;\n                return Ok(Committed { time, _turn: None });\n",
        models: &["commits_are_appended_in_their_order"],
    },
    Patch {
        what: "the lock of the commit log, until a commit is applied",
        file: "src/storage/commit/log.rs",
        locked: "_turn: Some(ApplyGuard { _sink: turn })",
        unlocked: "_turn: { drop(turn); None }",
        models: &["a_checkpoint_contains_the_commits_up_to_its_number"],
    },
    Patch {
        what: "the partition's lock in a backfill, between reading items and adding their entries",
        file: "src/storage/backfill.rs",
        locked: "                let slice: Vec<(&Key, &Item)> = items.take(SLICE).collect();\n",
        unlocked: "                let copied: Vec<(Key, Item)> = items.take(SLICE).map(|(key, item)| (key.clone(), item.clone())).collect();\n                drop(contents);\n                let slice: Vec<(&Key, &Item)> = copied.iter().map(|(key, item)| (key, item)).collect();\n",
        models: &["a_backfill_brings_nothing_back"],
    },
];
