//! JSON of a table's spent capacity.

use super::verdict::exceeded_name;
use super::write_number;
use crate::capacity::{Direction, Heat, KeyCounts, Level, PartitionHeat, ResourceHeat, ThrottleCounts};
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
    for (name, direction, counts) in [
        ("read", Direction::Read, &resource.read),
        ("write", Direction::Write, &resource.write),
    ] {
        let mut object = object.object(name);
        write_number(counts.units.as_f64(), object.member("units"));
        write_level(&resource.levels[direction.place()], &mut object);
        if let Some(maximum) = &resource.maximums[direction.place()] {
            let mut object = object.object("maximum");
            write_level(maximum, &mut object);
            object.close();
        }
        write_throttles(counts, object.object("throttles"));
        object.close();
    }
    let mut partitions = object.list("partitions");
    resource
        .partitions
        .iter()
        .for_each(|partition| write_partition(partition, partitions.object()));
    partitions.close();
    object.close();
}

fn write_level(level: &Level, object: &mut Object<'_>) {
    write_number(level.left.as_f64(), object.member("left"));
    write_number(level.size.as_f64(), object.member("size"));
    object.integer("rate", i64::try_from(level.rate).unwrap_or(i64::MAX));
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
    let write_counts = |counts: &KeyCounts, level: &Level, mut object: Object<'_>| {
        write_number(counts.units.as_f64(), object.member("units"));
        write_level(level, &mut object);
        object.integer("throttles", counts.throttles as i64);
        object.close();
    };
    let [read, write] = &partition.levels;
    write_counts(&partition.read, read, object.object("read"));
    write_counts(&partition.write, write, object.object("write"));
    object.close();
}
