//! Counters and gauges by the names and dimensions that CloudWatch has for them.

use crate::clock::Moment;
use crate::value::Name;

/// The names of dimensions, with a value.
pub(crate) mod dimension {
    use crate::value::Name;

    pub fn table(name: &Name) -> (&'static str, Name) {
        ("TableName", name.clone())
    }

    pub fn index(name: &Name) -> (&'static str, Name) {
        ("GlobalSecondaryIndexName", name.clone())
    }

    pub fn operation(name: &Name) -> (&'static str, Name) {
        ("Operation", name.clone())
    }

    pub fn receiving_region(region: &Name) -> (&'static str, Name) {
        ("ReceivingRegion", region.clone())
    }

    pub fn stream(label: &Name) -> (&'static str, Name) {
        ("StreamLabel", label.clone())
    }
}

/// The name and the value of a dimension.
pub type Dimension = (&'static str, Name);

/// Measurements, summed up.
///
/// ```
/// use dynatwin_engine::monitoring::Samples;
///
/// let mut latencies = Samples::default();
/// [2.0, 6.0].into_iter().for_each(|milliseconds| latencies.add(milliseconds));
/// assert_eq!((latencies.count, latencies.average(), latencies.maximum), (2, 4.0, 6.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// The number of measurements in the period.
    pub count: u64,
    /// The sum of all measurements.
    pub sum: f64,
    /// The smallest measurement; 0 of none.
    pub minimum: f64,
    /// The largest measurement; 0 of none.
    pub maximum: f64,
}

impl Samples {
    /// Adds one measurement to the statistics.
    pub fn add(&mut self, value: f64) {
        self.merge(Samples {
            count: 1,
            sum: value,
            minimum: value,
            maximum: value,
        });
    }

    /// Adds the measurements of other statistics.
    pub fn merge(&mut self, others: Samples) {
        if others.count == 0 {
            return;
        }
        self.minimum = if self.count == 0 {
            others.minimum
        } else {
            self.minimum.min(others.minimum)
        };
        self.maximum = self.maximum.max(others.maximum);
        self.count += others.count;
        self.sum += others.sum;
    }

    /// Their average; 0 of none.
    pub fn average(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// A metric in one minute of the emulator's clock.
///
/// ```
/// use dynatwin_engine::{Caller, Clock, Conditions, Engine, Moment, Settings};
/// use std::time::Duration;
///
/// let clock = Clock::settable(Moment::START);
/// let engine = Engine::new(Settings { clock, seed: 7, conditions: Conditions::CALM, shared_db: false });
/// let caller = Caller { access_key: "me".into(), region: "us-east-1".into() };
/// engine.watch(true);
/// engine.dispatch(&caller, "GetItem", b"{}");
/// engine.advance(Duration::from_secs(120));
/// engine.dispatch(&caller, "GetItem", b"{}");
/// let errors: Vec<_> = engine.metrics_by_minute(&caller).iter().map(|point| (point.start, point.metric.value)).collect();
/// assert_eq!(errors, [(Moment::START, 1.0), (Moment::START.plus(Duration::from_secs(120)), 1.0)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Datapoint {
    /// The first moment of the minute.
    pub start: Moment,
    /// The metric, with its sum in this minute.
    pub metric: Metric,
    /// What was measured, of metrics that are not counters: `SuccessfulRequestLatency` and `IteratorAge`, in milliseconds.
    pub samples: Option<Samples>,
}

/// A counter or gauge, as the Developer Guide's "DynamoDB metrics and dimensions" has it. Counters are sums since watching
/// began; [`Datapoint`]s are by the minute. `SuccessfulRequestLatency` is an average and `IteratorAge` a maximum, both in
/// milliseconds. As there, what is zero is not sent. `SystemErrors` counts a 503 as it counts a 500, and
/// `UserErrors` has what reached an operation: a request without sound credentials has no account to be counted for.
///
/// ```
/// use dynatwin_engine::monitoring::Metric;
///
/// let dimensions = vec![("TableName", "Orders".into()), ("Operation", "Scan".into())];
/// let metric = Metric { name: "ReturnedItemCount", dimensions, value: 3.0 };
/// assert_eq!(metric.to_string(), "ReturnedItemCount{TableName=Orders, Operation=Scan} 3");
/// assert_eq!(metric.dimension("Operation"), Some("Scan"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name that CloudWatch uses.
    pub name: &'static str,
    /// Names and values of the dimensions, as CloudWatch has them.
    pub dimensions: Vec<(&'static str, Name)>,
    /// The sum, or a gauge's present value.
    pub value: f64,
}

impl Metric {
    /// The value of a dimension.
    pub fn dimension(&self, name: &str) -> Option<&str> {
        let found = self.dimensions.iter().find(|(there, _)| *there == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Adds a number, if it is not zero.
    pub(crate) fn count(to: &mut Vec<Metric>, name: &'static str, dimensions: &[(&'static str, Name)], count: u64) {
        Metric::amount(to, name, dimensions, count as f64);
    }

    /// Adds an amount, if it is not zero.
    pub(crate) fn amount(to: &mut Vec<Metric>, name: &'static str, dimensions: &[(&'static str, Name)], value: f64) {
        if value > 0.0 {
            to.push(Metric {
                name,
                dimensions: dimensions.to_vec(),
                value,
            });
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)?;
        for (at, (name, value)) in self.dimensions.iter().enumerate() {
            write!(formatter, "{}{name}={value}", if at == 0 { "{" } else { ", " })?;
        }
        let end = if self.dimensions.is_empty() { " " } else { "} " };
        write!(formatter, "{end}{}", self.value)
    }
}
