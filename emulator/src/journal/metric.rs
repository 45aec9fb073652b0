//! Counters and gauges by the names and dimensions that CloudWatch has for them.

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

    pub fn stream(label: &Name) -> (&'static str, Name) {
        ("StreamLabel", label.clone())
    }
}

/// A counter or gauge, as the Developer Guide's "DynamoDB metrics and dimensions" has it. Counters are sums since watching
/// began, and not by the minute. As there, what is zero is not sent. `SystemErrors` counts a 503 as it counts a 500, and
/// `UserErrors` has what reached an operation: a request without sound credentials has no account to be counted for.
///
/// ```
/// use dynatwin_engine::journal::Metric;
///
/// let dimensions = vec![("TableName", "Orders".into()), ("Operation", "Scan".into())];
/// let metric = Metric { name: "ReturnedItemCount", dimensions, value: 3.0 };
/// assert_eq!(metric.to_string(), "ReturnedItemCount{TableName=Orders, Operation=Scan} 3");
/// assert_eq!(metric.dimension("Operation"), Some("Scan"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is of.
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
