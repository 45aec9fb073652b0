//! What a table's capacity was spent on, as it is shown.

use super::verdict::exceeded_name;
use super::write_number;
use crate::capacity::{Counts, Heat, PartitionHeat, ResourceHeat, ThrottleCounts};
use crate::fault::Exceeded;
use crate::wire::object::Object;

/// Writes it into an object: `resources`, and `keys`.
pub fn write_heat(heat: &Heat, object: &mut Object<'_>) {
    let mut resources = object.list("resources");
    heat.resources
        .iter()
        .for_each(|resource| write_resource(resource, resources.object()));
    resources.close();
    let mut keys = object.list("keys");
    for (key, units) in &heat.keys {
        let mut hot = keys.object();
        hot.member("key").value(key);
        write_number(units.as_f64(), hot.member("units"));
        hot.close();
    }
    keys.close();
}

fn write_resource(resource: &ResourceHeat, mut object: Object<'_>) {
    if let Some(index) = &resource.index {
        object.string("index", index);
    }
    let [reads, writes] = resource.left;
    for (name, counts, left) in [("read", &resource.read, reads), ("write", &resource.write, writes)] {
        let mut direction = object.object(name);
        write_number(counts.units.as_f64(), direction.member("units"));
        write_number(left.as_f64(), direction.member("left"));
        write_throttles(counts, direction.object("throttles"));
        direction.close();
    }
    let mut partitions = object.list("partitions");
    resource
        .partitions
        .iter()
        .for_each(|partition| write_partition(partition, partitions.object()));
    partitions.close();
    object.close();
}

fn write_throttles(counts: &ThrottleCounts, mut object: Object<'_>) {
    for exceeded in Exceeded::ALL {
        object.integer(exceeded_name(exceeded), counts.throttles(exceeded) as i64);
    }
    object.close();
}

/// Tokens are texts: not every reader of JSON has whole numbers of 64 bits.
fn write_partition(partition: &PartitionHeat, mut object: Object<'_>) {
    object.string("first", &format!("{:016x}", partition.first));
    object.string("last", &format!("{:016x}", partition.last));
    object.integer("bytes", partition.bytes as i64);
    let write_counts = |counts: &Counts, mut object: Object<'_>| {
        write_number(counts.units.as_f64(), object.member("units"));
        object.integer("throttles", counts.throttles as i64);
        object.close();
    };
    write_counts(&partition.read, object.object("read"));
    write_counts(&partition.write, object.object("write"));
    object.close();
}
