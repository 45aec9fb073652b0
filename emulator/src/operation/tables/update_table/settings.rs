//! Deletion protection, table class and encryption, which cannot be combined with other changes (docs/behavior: 04 1.3,
//! 5.5 and 5.6).

use std::time::Duration;

use super::edit::TableUpdate;
use crate::clock::Moment;
use crate::error::{ApiError, ErrorKind};
use crate::operation::tables::create_table::definition;
use crate::storage::{Job, JobKind};

pub(super) const PROTECTION_COOLDOWN: Duration = Duration::from_secs(15);
const CLASS_WINDOW: Duration = Duration::from_hours(30 * 24);
const ENCRYPTION_WINDOW: Duration = Duration::from_hours(24);
const ENCRYPTION_COOLDOWN: Duration = Duration::from_hours(6);

/// Measured: 4 to 6 s.
const CLASS: f64 = 0.75;
/// Global indexes are `UPDATING` for a moment when the class changes; the duration was not measured.
const FLASH: u32 = 4;
/// Measured: 21 to 23 s, and the old key is visible for the first 8 to 9 s.
const ENCRYPTION: f64 = 3.6;

/// Records the present moment, and drops the oldest.
fn note<const N: usize>(times: &mut [Option<Moment>; N], now: Moment) {
    times.rotate_right(1);
    times[0] = Some(now);
}

impl TableUpdate<'_> {
    /// Deletion protection changes at once; a second effective change has a cooldown.
    pub(super) fn protection(&mut self) -> Result<(), ApiError> {
        let now = self.context.now;
        let Some(wanted) = self.request.deletion_protection_enabled else {
            return Ok(());
        };
        if wanted == self.shape.definition.deletion_protection {
            return Ok(());
        }
        let again = self.shape.recent.protection.map(|last| last.plus(PROTECTION_COOLDOWN));
        if let Some(again) = again.filter(|again| self.takes_time() && *again > now) {
            return Err(ApiError::new(
                ErrorKind::Throttling,
                format!(
                    "Deletion protection setting for table {} modified within the previous 15000 milliseconds. Please try again after {again}",
                    self.table.name
                ),
            ));
        }
        self.shape.recent.protection = Some(now);
        self.definition().deletion_protection = wanted;
        Ok(())
    }

    pub(super) fn class(&mut self) -> Result<(), ApiError> {
        let now = self.context.now;
        let Some(word) = &self.request.table_class else {
            return Ok(());
        };
        let wanted = definition::table_class(word)?;
        if self
            .shape
            .jobs
            .iter()
            .any(|job| matches!(job.work, JobKind::Class { .. }))
        {
            return Err(ApiError::in_use(format_args!(
                "Can't update table class when a table class update is in progress. Table: {} TableClassUpdateInProgress: {}",
                self.table.name,
                self.shape.definition.class.unwrap_or("STANDARD")
            )));
        }
        self.refuse_while_units_change()?;
        // The error was measured; its text is that of other changes.
        self.refuse_while_stream_switches("update table class")?;
        let spent = self
            .shape
            .recent
            .class
            .iter()
            .all(|last| last.is_some_and(|last| last.plus(CLASS_WINDOW) > now));
        if spent && self.takes_time() {
            return Err(ApiError::subscriber_limit(
                "Updates to TableClass are limited to 2 times in 30 day(s).",
            ));
        }
        let was = (self.shape.definition.class, self.shape.definition.class_changed);
        if was.0.unwrap_or("STANDARD") == wanted {
            // The response has the status UPDATING, and nothing changes.
            self.begin(
                JobKind::Class {
                    was,
                    shown_in_indexes_until: now,
                },
                now,
            );
            return Ok(());
        }
        note(&mut self.shape.recent.class, now);
        let until = self.after("class", CLASS);
        let definition = self.definition();
        definition.class = Some(wanted);
        definition.class_changed = Some(until);
        let shown_in_indexes_until = now.plus(until.since(now) / FLASH);
        self.begin(
            JobKind::Class {
                was,
                shown_in_indexes_until,
            },
            until,
        );
        Ok(())
    }

    pub(super) fn encryption(&mut self) -> Result<(), ApiError> {
        let now = self.context.now;
        let requested = self.request.sse_specification.as_ref();
        if requested.is_none() {
            return Ok(());
        }
        let wanted = definition::encryption(self.context, requested)?;
        let there = self.shape.definition.encryption.clone();
        match (&there, &wanted) {
            (None, None) => return Err(ApiError::invalid("Table is already encrypted by default")),
            (Some(there), Some(wanted))
                // A key's id or alias is accepted, even if it resolves to the present key.
                if there == wanted && requested.is_some_and(|requested| requested.kms_master_key_id.as_deref() == Some(&there.key_arn)) =>
            {
                return Err(ApiError::invalid(
                    "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key",
                ));
            }
            _ => {}
        }
        let changes = |job: &Job| matches!(job.work, JobKind::Encryption { .. });
        if self.shape.jobs.iter().any(changes) {
            if wanted.is_some() && there == wanted {
                // Measured: an identical request is accepted without effect.
                return Ok(());
            }
            return Err(ApiError::in_use("Server-Side Encryption is still being updated"));
        }
        self.check_encryption_budget(now)?;
        note(&mut self.shape.recent.encryption, now);
        let until = self.after("encryption", ENCRYPTION);
        let shown = there.or_else(|| wanted.clone());
        self.definition().encryption = wanted;
        if let Some(shown) = shown {
            let key_arn = shown.key_arn;
            let shows = now.plus(until.since(now) * 2 / 5);
            self.begin(JobKind::Encryption { key_arn, shows }, until);
        }
        Ok(())
    }

    /// Permits four changes in 24 hours, then one in six hours.
    fn check_encryption_budget(&self, now: Moment) -> Result<(), ApiError> {
        let recent = &self.shape.recent.encryption;
        let count = recent
            .iter()
            .flatten()
            .filter(|last| last.plus(ENCRYPTION_WINDOW) > now)
            .count();
        let Some(last) = recent[0] else { return Ok(()) };
        let next = last.plus(ENCRYPTION_COOLDOWN);
        if !self.takes_time() || count < recent.len() || next <= now {
            return Ok(());
        }
        Err(ApiError::subscriber_limit(format_args!(
            "Encryption mode changes are limited in the 24h window ending at {now}. After the first 4 change, each subsequent change in the same window can be performed at most once every 21600 seconds. Number of updates today: {count}. Last change at {last}. Next changes can be made at {next}."
        )))
    }
}
