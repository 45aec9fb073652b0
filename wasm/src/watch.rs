//! Converts recorded requests, scans and metrics to JavaScript.

use dynatwin_engine::caller::Caller;
use dynatwin_engine::capacity::Heat;
use dynatwin_engine::journal::{Datapoint, Metric, ObservedScan, Request, Spent, Touch};
use dynatwin_engine::wire::error::exception;
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;

use crate::answer::delivery;
use crate::values::{attribute, map, milliseconds, set};

fn list<T>(each: impl IntoIterator<Item = T>, object: impl Fn(T) -> Object) -> Array {
    each.into_iter().map(|each| JsValue::from(object(each))).collect()
}

/// Returns `{ accessKey, region }`.
fn caller(caller: &Caller) -> Object {
    let object = Object::new();
    set(&object, "accessKey", caller.access_key.as_str());
    set(&object, "region", caller.region.as_str());
    object
}

/// Converts a recorded request.
pub fn request(request: &Request) -> Object {
    let object = Object::new();
    set(&object, "number", request.number as f64);
    set(&object, "at", milliseconds(request.at));
    set(&object, "caller", caller(&request.caller));
    set(&object, "operation", request.operation.as_str());
    let tables: Array = request
        .tables
        .iter()
        .map(|table| JsValue::from(table.as_str()))
        .collect();
    set(&object, "tables", tables);
    set(&object, "touches", list(&request.touches, touch));
    set(&object, "status", request.status);
    if let Some(kind) = request.error {
        set(&object, "error", exception(kind));
    }
    set(&object, "delivery", delivery(request.delivery));
    set(&object, "readUnits", request.read.as_f64());
    set(&object, "writeUnits", request.write.as_f64());
    set(&object, "scanned", request.scanned as f64);
    set(&object, "returned", request.returned as f64);
    object
}

fn touch(touch: &Touch) -> Object {
    let object = Object::new();
    set(&object, "act", touch.act.name());
    set(&object, "table", touch.table.as_str());
    if let Some(index) = &touch.index {
        set(&object, "index", index.as_str());
    }
    set(&object, "key", map(&touch.key));
    set(&object, "readUnits", touch.read.as_f64());
    set(&object, "writeUnits", touch.write.as_f64());
    if let Some(kind) = touch.error {
        set(&object, "error", exception(kind));
    }
    object
}

/// Converts a recorded kind of scan.
pub fn scan(scan: &ObservedScan) -> Object {
    let object = Object::new();
    set(&object, "operation", scan.operation.as_str());
    set(&object, "table", scan.table.as_str());
    if let Some(index) = &scan.index {
        set(&object, "index", index.as_str());
    }
    set(&object, "caller", caller(&scan.caller));
    set(&object, "first", milliseconds(scan.first));
    set(&object, "times", scan.times as f64);
    set(&object, "scanned", scan.scanned as f64);
    let keys = list(&scan.partition_keys, |(index, name)| {
        let object = Object::new();
        if let Some(index) = index {
            set(&object, "index", index.as_str());
        }
        set(&object, "attribute", name.as_str());
        object
    });
    set(&object, "partitionKeys", keys);
    object
}

/// Converts a counter or gauge.
pub fn metric(metric: &Metric) -> Object {
    let object = Object::new();
    set(&object, "name", metric.name);
    let dimensions = Object::new();
    for (name, value) in &metric.dimensions {
        set(&dimensions, name, value.as_str());
    }
    set(&object, "dimensions", dimensions);
    set(&object, "value", metric.value);
    object
}

/// Converts a metric in one minute.
pub fn datapoint(point: &Datapoint) -> Object {
    let object = metric(&point.metric);
    set(&object, "start", milliseconds(point.start));
    set(&object, "sum", point.metric.value);
    if let Some(samples) = &point.samples {
        set(&object, "sampleCount", samples.count as f64);
        set(&object, "average", samples.average());
        set(&object, "minimum", samples.minimum);
        set(&object, "maximum", samples.maximum);
    }
    object
}

/// Converts the capacity that a table or a global index has consumed.
pub fn spent(spent: &Spent) -> Object {
    let object = Object::new();
    set(&object, "table", spent.table.as_str());
    if let Some(index) = &spent.index {
        set(&object, "index", index.as_str());
    }
    set(&object, "read", spent.read.as_f64());
    set(&object, "write", spent.write.as_f64());
    object
}

/// Returns the hottest keys of a table.
pub fn hottest_keys(heat: &Heat, most: usize) -> Array {
    list(heat.keys.iter().take(most), |(key, units)| {
        let object = Object::new();
        set(&object, "key", attribute(key));
        set(&object, "units", units.as_f64());
        object
    })
}
