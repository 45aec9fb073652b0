//! JSON of the request log.

use super::event::write_token;
use super::write_number;
use crate::answer::Delivery;
use crate::caller::Caller;
use crate::error::ErrorKind;
use crate::journal::{Datapoint, Injected, LoggedBody, Metric, ObservedScan, RecordedAccess, Request};
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::error::exception;
use crate::wire::object::Object;

/// Writes a request, with its bodies if `bodies` is set.
pub fn write_request(request: &Request, bodies: bool, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.integer("number", request.number as i64);
    object.string("at", &request.at.to_string());
    write_caller(&request.caller, &mut object);
    object.string("operation", &request.operation);
    object.strings("tables", request.tables.iter().map(Name::as_str));
    let mut accesses = object.list("accesses");
    request
        .accesses
        .iter()
        .for_each(|access| write_access(access, accesses.object()));
    accesses.close();
    object.integer("status", i64::from(request.status));
    write_error(request.error, &mut object);
    write_delivery(request.delivery, object.object("delivery"));
    write_number(request.read.as_f64(), object.member("readUnits"));
    write_number(request.write.as_f64(), object.member("writeUnits"));
    object.integer("scanned", request.scanned as i64);
    object.integer("returned", request.returned as i64);
    if let Some([sent, answered]) = request.bodies.as_deref().filter(|_| bodies) {
        for (name, body) in [("request", sent), ("response", answered)] {
            write_body(body, object.object(name));
        }
    }
    object.close();
}

fn write_body(body: &LoggedBody, mut object: Object<'_>) {
    object.string("body", &String::from_utf8_lossy(&body.bytes));
    object.integer("bytes", body.length as i64);
    object.boolean("truncated", body.bytes.len() < body.length);
    object.close();
}

fn write_access(access: &RecordedAccess, mut object: Object<'_>) {
    object.string("table", &access.table);
    write_access_members(access, &mut object);
    object.close();
}

/// All of an access but its table.
pub(super) fn write_access_members(access: &RecordedAccess, object: &mut Object<'_>) {
    object.string("act", access.act.name());
    if let Some(index) = &access.index {
        object.string("index", index);
    }
    object.map("key", &access.key);
    write_number(access.read.as_f64(), object.member("readUnits"));
    write_number(access.write.as_f64(), object.member("writeUnits"));
    object.integer("scanned", access.scanned as i64);
    write_error(access.error, object);
    if let Some((first, last)) = access.tokens {
        write_token("token", first, object);
        if last != first {
            write_token("lastToken", last, object);
        }
    }
    if let Some((first, last)) = access.partitions {
        object.integer("partition", first as i64);
        if last != first {
            object.integer("lastPartition", last as i64);
        }
    }
    if !access.limits.is_empty() {
        let mut limits = object.list("limits");
        for (reason, resource) in &access.limits {
            let mut limit = limits.object();
            limit.string("reason", reason);
            limit.string("resource", resource);
            limit.close();
        }
        limits.close();
    }
    match access.injected {
        Some(Injected::Rule(id)) => object.integer("fault", id as i64),
        Some(Injected::Condition(name)) => object.string("condition", name),
        None => {}
    }
    if let Some(age) = access.age {
        write_number(age.as_secs_f64(), object.member("age"));
    }
}

/// A kind of scan that was seen.
pub fn write_scan(scan: &ObservedScan, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.string("operation", &scan.operation);
    object.string("table", &scan.table);
    if let Some(index) = &scan.index {
        object.string("index", index);
    }
    write_caller(&scan.caller, &mut object);
    object.string("first", &scan.first.to_string());
    object.integer("times", scan.times as i64);
    object.integer("scanned", scan.scanned as i64);
    let mut keys = object.list("partitionKeys");
    for (index, attribute) in &scan.partition_keys {
        let mut key = keys.object();
        if let Some(index) = index {
            key.string("index", index);
        }
        key.string("attribute", attribute);
        key.close();
    }
    keys.close();
    object.close();
}

pub fn write_metric(metric: &Metric, writer: &mut Writer) {
    let mut object = Object::open(writer);
    write_name(metric, &mut object);
    write_number(metric.value, object.member("value"));
    object.close();
}

/// A metric in one minute.
pub fn write_datapoint(point: &Datapoint, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.string("start", &point.start.to_string());
    write_name(&point.metric, &mut object);
    write_number(point.metric.value, object.member("sum"));
    if let Some(samples) = &point.samples {
        object.integer("sampleCount", samples.count as i64);
        write_number(samples.average(), object.member("average"));
        write_number(samples.minimum, object.member("minimum"));
        write_number(samples.maximum, object.member("maximum"));
    }
    object.close();
}

/// A metric's name and dimensions.
fn write_name(metric: &Metric, object: &mut Object<'_>) {
    object.string("name", metric.name);
    let mut dimensions = object.object("dimensions");
    for (name, value) in &metric.dimensions {
        dimensions.string(name, value);
    }
    dimensions.close();
}

pub(super) fn write_caller(caller: &Caller, object: &mut Object<'_>) {
    let mut who = object.object("caller");
    who.string("accessKey", &caller.access_key);
    who.string("region", &caller.region);
    who.close();
}

pub(super) fn write_error(error: Option<ErrorKind>, object: &mut Object<'_>) {
    if let Some(kind) = error {
        object.string("error", exception(kind));
    }
}

fn write_delivery(delivery: Delivery, mut object: Object<'_>) {
    let kind = match delivery {
        Delivery::Whole => "whole",
        Delivery::Truncated(_) => "truncated",
        Delivery::Reset => "reset",
        Delivery::Lost => "lost",
    };
    object.string("kind", kind);
    if let Delivery::Truncated(bytes) = delivery {
        object.integer("bytes", bytes as i64);
    }
    object.close();
}
