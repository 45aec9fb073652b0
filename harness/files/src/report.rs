//! The report of a bulk operation: a JSON line for each record that was not written. The service's layout of these
//! objects is not known; this one is our own.

use dynatwin_engine::json::{Object, Writer};
use dynatwin_engine::transfers::{BulkReport, Failure, Rejected, folder};

use crate::bucket::Bucket;

/// Writes the objects of a report.
pub fn write(bucket: &Bucket, report: &BulkReport) -> Result<(), Failure> {
    let root = folder(report.prefix.as_deref().unwrap_or_default());
    let id = report.arn.rsplit('/').next().unwrap_or_default();
    for (name, records) in [
        ("errors.json", &report.errors),
        ("condition-check-failures.json", &report.unmet),
    ] {
        if let Some(records) = records {
            bucket.put(&format!("{root}/{id}/{name}"), &lines(records))?;
        }
    }
    Ok(())
}

fn lines(records: &[Rejected]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        let mut writer = Writer::new();
        let mut line = Object::open(&mut writer);
        line.string("object", &record.object);
        line.integer("record", record.number as i64);
        line.string("message", &record.why);
        if let Some(item) = &record.item {
            line.item("Item", item);
        }
        if let Some(item) = &record.existing {
            line.item("ExistingItem", item);
        }
        line.close();
        bytes.extend_from_slice(&writer.finish());
        bytes.push(b'\n');
    }
    bytes
}
