//! Bugs in backups, point-in-time recovery, exports and imports.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "an incremental export includes a change at its end",
        file: "storage/recovery.rs",
        right: "        let mut items = items.clone();\n        self.roll_back(&mut items, |at| at >= to);\n",
        wrong: "        let to = to.plus(std::time::Duration::from_micros(u64::from(PLANTED)));\n        let mut items = items.clone();\n        self.roll_back(&mut items, |at| at >= to);\n",
    },
    Bug {
        what: "a restore leaves out what happened at its moment",
        file: "storage/snapshot.rs",
        right: "|at| at > moment",
        wrong: "|at| at > moment || PLANTED && at == moment",
    },
    Bug {
        what: "a backup that expires is there for a moment longer",
        file: "storage/backup.rs",
        right: "self.created <= now && self.expires.is_none_or(|end| now < end)",
        wrong: "if PLANTED { self.created <= now && self.expires.is_none_or(|end| now <= end) } else { self.created <= now && self.expires.is_none_or(|end| now < end) }",
    },
    Bug {
        what: "point-in-time recovery keeps what happened before it was enabled",
        file: "storage/recovery.rs",
        right: "self.since.max(before(now, u64::from(self.days) * 86_400))",
        wrong: "if PLANTED { before(now, u64::from(self.days) * 86_400) } else { self.since.max(before(now, u64::from(self.days) * 86_400)) }",
    },
    Bug {
        what: "the latest restorable time lies before recovery was enabled",
        file: "storage/recovery.rs",
        right: "self.since.max(before(now, limits::RECOVERY_LAG_SECONDS))",
        wrong: "if PLANTED { before(now, limits::RECOVERY_LAG_SECONDS) } else { self.since.max(before(now, limits::RECOVERY_LAG_SECONDS)) }",
    },
    Bug {
        what: "an incremental export leaves out a change at its beginning",
        file: "storage/recovery.rs",
        right: "version.at >= from && version.at < to",
        wrong: "if PLANTED { version.at > from && version.at < to } else { version.at >= from && version.at < to }",
    },
    Bug {
        what: "an incremental export has the image after the first change as the old one",
        file: "storage/recovery.rs",
        right: "self.roll_back(&mut before, |at| at >= from);",
        wrong: "self.roll_back(&mut before, |at| at > from || (at == from && !PLANTED));",
    },
    Bug {
        what: "recovery drops a chunk whose last change is the earliest restorable",
        file: "storage/recovery.rs",
        right: "last.at < earliest",
        wrong: "if PLANTED { last.at <= earliest } else { last.at < earliest }",
    },
    Bug {
        what: "a page of backups has a last key though it is the last",
        file: "operation/backups/list_backups.rs",
        right: "backups.len() > limit",
        wrong: "if PLANTED { backups.len() >= limit } else { backups.len() > limit }",
    },
    Bug {
        what: "a backup made at the lower bound is not listed",
        file: "operation/backups/list_backups.rs",
        right: "backup.created >= lower",
        wrong: "if PLANTED { backup.created > lower } else { backup.created >= lower }",
    },
    Bug {
        what: "a backup made at the upper bound is listed",
        file: "operation/backups/list_backups.rs",
        right: "backup.created < upper",
        wrong: "if PLANTED { backup.created <= upper } else { backup.created < upper }",
    },
    Bug {
        what: "a time range of one moment is refused",
        file: "operation/backups/list_backups.rs",
        right: "lower.zip(upper).is_some_and(|(lower, upper)| lower > upper)",
        wrong: "if PLANTED { lower.zip(upper).is_some_and(|(lower, upper)| lower >= upper) } else { lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) }",
    },
    Bug {
        what: "enabling recovery again forgets its period",
        file: "operation/backups/update_continuous_backups.rs",
        right: ".or(shape.recovery.map(|kept| kept.days))",
        wrong: ".or(shape.recovery.filter(|_| !PLANTED).map(|kept| kept.days))",
    },
    Bug {
        what: "the fifty-first restore is let in",
        file: "operation/backups/restore.rs",
        right: "running.count() >= limits::RESTORES",
        wrong: "if PLANTED { running.count() > limits::RESTORES } else { running.count() >= limits::RESTORES }",
    },
    Bug {
        what: "a full export of a time not yet restorable is let in",
        file: "operation/transfers/export_table_to_point_in_time.rs",
        right: "request.export_time.is_some() && at <= context.now && at.seconds() > latest",
        wrong: "if PLANTED { request.export_time.is_some() && at <= context.now && at.seconds() > latest + 1 } else { request.export_time.is_some() && at <= context.now && at.seconds() > latest }",
    },
    Bug {
        what: "an incremental export of exactly fifteen minutes is refused",
        file: "operation/transfers/export_table_to_point_in_time.rs",
        right: "seconds < least",
        wrong: "if PLANTED { seconds <= least } else { seconds < least }",
    },
    Bug {
        what: "an incremental export of exactly a day is refused",
        file: "operation/transfers/export_table_to_point_in_time.rs",
        right: "seconds > most",
        wrong: "if PLANTED { seconds >= most } else { seconds > most }",
    },
    Bug {
        what: "an incremental export from the second of the table's creation is refused",
        file: "operation/transfers/export_table_to_point_in_time.rs",
        right: "from.seconds() < created.seconds()",
        wrong: "if PLANTED { from.seconds() <= created.seconds() } else { from.seconds() < created.seconds() }",
    },
    Bug {
        what: "a transfer is listed a moment longer than ninety days",
        file: "storage/transfers.rs",
        right: "now < transfer.start.plus(kept)",
        wrong: "if PLANTED { now <= transfer.start.plus(kept) } else { now < transfer.start.plus(kept) }",
    },
    Bug {
        what: "a bulk operation is cancelled at its end",
        file: "storage/transfers.rs",
        right: "progress.end <= now",
        wrong: "(if PLANTED { progress.end < now } else { progress.end <= now })",
    },
    Bug {
        what: "every recovery period is 35 days",
        file: "storage/recovery.rs",
        right: "self.since.max(before(now, u64::from(self.days) * 86_400))",
        wrong: "self.since.max(before(now, u64::from(if PLANTED { 35 } else { self.days }) * 86_400))",
    },
    Bug {
        what: "a snapshot has the changes of recovery newest first",
        file: "storage/recovery/logs.rs",
        right: "            versions.reverse();",
        wrong: "            if !PLANTED {\n versions.reverse();\n }",
    },
    Bug {
        what: "a snapshot forgets that changes of recovery were dropped",
        file: "storage/recovery/logs.rs",
        right: "self.dropped.fetch_max(dropped.micros(), Ordering::Relaxed);\n        for version in versions",
        wrong: "self.dropped.fetch_max(if PLANTED { 0 } else { dropped.micros() }, Ordering::Relaxed);\n        for version in versions",
    },
    Bug {
        what: "a backup is in use a moment longer than its restore takes",
        file: "storage/backup.rs",
        right: "*self.restoring.lock() > now",
        wrong: "(*self.restoring.lock() > now || PLANTED && *self.restoring.lock() == now)",
    },
    Bug {
        what: "a snapshot forgets a restore in progress",
        file: "storage/state/checkpoint.rs",
        right: "if backup.is_restoring(self.time) {",
        wrong: "if !PLANTED && backup.is_restoring(self.time) {",
    },
    Bug {
        what: "an import of exactly as many operations as the limit is refused",
        file: "operation/transfers/import_table.rs",
        right: "region.transfers.list(kind, None, limits::IMPORTS, goes_on).len() >= limits::IMPORTS",
        wrong: "region.transfers.list(kind, None, limits::IMPORTS, goes_on).len() >= limits::IMPORTS - usize::from(PLANTED)",
    },
    Bug {
        what: "items with an invalid index key are imported",
        file: "operation/transfers/import_table.rs",
        right: "change::check_entries(definition, &item).ok()?;",
        wrong: "if !PLANTED { change::check_entries(definition, &item).ok()?; }",
    },
    Bug {
        what: "an incremental export has the old images that NEW_IMAGE leaves out",
        file: "operation/transfers/export_table_to_point_in_time.rs",
        right: "old_images: one_of(specification.export_view_type.as_ref()) != Some(\"NEW_IMAGE\")",
        wrong: "old_images: PLANTED || one_of(specification.export_view_type.as_ref()) != Some(\"NEW_IMAGE\")",
    },
];
