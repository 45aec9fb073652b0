//! Warm throughput, of the table or of an index: it can only be raised (docs/behavior: 04 5.2).

use super::edit::TableUpdate;
use super::throughput::ThroughputOwner;
use crate::error::ApiError;
use crate::operation::tables::create_table::quota;
use crate::request::WarmThroughput;
use crate::schema::{Throughput, initial_warm};
use crate::storage::JobKind;
use crate::value::Name;

/// Measured: 4.5 to 8.5 minutes.
const WARMING: f64 = 60.0;

impl TableUpdate<'_> {
    pub(super) fn warm(&mut self) -> Result<(), ApiError> {
        let Some(requested) = &self.request.warm_throughput else {
            return Ok(());
        };
        let there = &self.shape.definition;
        let was = there
            .warm
            .unwrap_or_else(|| initial_warm(there.billing, there.throughput));
        let raised = self.raised(was, requested, &ThroughputOwner::Table)?;
        self.definition().warm = Some(raised);
        self.begin_warming(None, was);
        Ok(())
    }

    pub(super) fn warm_index(&mut self, at: usize, requested: &WarmThroughput) -> Result<(), ApiError> {
        let index = &self.shape.definition.globals[at];
        let name = index.name.clone();
        let was = index
            .warm
            .unwrap_or_else(|| initial_warm(self.shape.definition.billing, index.throughput));
        let raised = self.raised(was, requested, &ThroughputOwner::Index(&name))?;
        self.definition().globals[at].warm = Some(raised);
        self.begin_warming(Some(name), was);
        Ok(())
    }

    /// A later change replaces one in progress; the visible units are those from before the first.
    fn begin_warming(&mut self, of: Option<Name>, was: Throughput) {
        let mut shown = was;
        self.shape.jobs.retain(|job| match &job.work {
            JobKind::Warm { index, was } if *index == of => {
                shown = *was;
                false
            }
            _ => true,
        });
        let until = self.after("warm throughput", WARMING);
        self.begin(JobKind::Warm { index: of, was: shown }, until);
    }

    /// Merges the requested units into the present ones, each member separately.
    fn raised(
        &self,
        was: Throughput,
        requested: &WarmThroughput,
        of: &ThroughputOwner<'_>,
    ) -> Result<Throughput, ApiError> {
        let mut raised = was;
        for (value, member, name) in [
            (requested.read_units_per_second, &mut raised.read, "ReadUnitsPerSecond"),
            (
                requested.write_units_per_second,
                &mut raised.write,
                "WriteUnitsPerSecond",
            ),
        ] {
            let Some(value) = value else { continue };
            let value = u64::try_from(value).unwrap_or(0);
            if value < *member {
                return Err(ApiError::invalid(format_args!(
                    "Requested {name} for WarmThroughput for {} is lower than current WarmThroughput, decreasing WarmThroughput is not supported",
                    of.plain()
                )));
            }
            // The present value may be higher: a table keeps its highest throughput.
            if value > *member {
                quota::warm(self.context, value, name, of)?;
            }
            *member = value;
        }
        Ok(raised)
    }
}
