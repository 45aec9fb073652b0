//! The attachments of a table: Kinesis destinations, Contributor Insights, resource policies and stream tags.
//!
//! Each computes its visible state for a moment, so that no work is due when a change of it completes.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::sorted::SortedMap;
use crate::value::{Name, Text};

/// The time for which a disabled Kinesis destination remains visible (measured: minutes).
const VISIBLE_AFTER_DISABLING: Duration = Duration::from_mins(5);

/// The attachments of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachments {
    /// Kinesis destinations, one per stream, in the order of their creation.
    pub destinations: Vec<Destination>,
    /// Contributor Insights, of the table and of its global indexes.
    pub insights: Vec<Insights>,
    /// Resource policies, of the table and of its streams.
    pub policies: Vec<AttachedResourcePolicy>,
    /// The tags of the table's streams, by label. The table's own are in its definition.
    pub stream_tags: SortedMap<Text, Vec<(String, String)>>,
}

impl Attachments {
    /// The Kinesis destination of this stream, if it is still visible.
    pub fn destination(&self, stream_arn: &str, now: Moment) -> Option<&Destination> {
        self.shown_destinations(now).find(|each| each.stream_arn == stream_arn)
    }

    pub fn shown_destinations(&self, now: Moment) -> impl Iterator<Item = &Destination> {
        self.destinations.iter().filter(move |each| !each.is_gone(now))
    }

    /// Replaces the Kinesis destination of the same stream, and removes those that are no longer visible.
    pub fn set_destination(&mut self, destination: Destination, now: Moment) {
        self.destinations
            .retain(|each| each.stream_arn != destination.stream_arn && !each.is_gone(now));
        self.destinations.push(destination);
    }

    /// The insights of the table, or of an index.
    pub fn insights(&self, index: Option<&str>) -> Option<&Insights> {
        self.insights.iter().find(|each| each.index.as_deref() == index)
    }

    /// Replaces the insights of the same table or index.
    pub fn set_insights(&mut self, insights: Insights) {
        self.forget_insights(insights.index.as_deref());
        self.insights.push(insights);
    }

    /// Removes the insights of a deleted index.
    pub fn forget_insights(&mut self, index: Option<&str>) {
        self.insights.retain(|each| each.index.as_deref() != index);
    }

    /// The policy of the table, or of the stream with this label.
    pub fn policy(&self, stream: Option<&str>) -> Option<&AttachedResourcePolicy> {
        self.policies.iter().find(|each| each.stream.as_deref() == stream)
    }

    /// Replaces the policy of the same resource.
    pub fn set_policy(&mut self, policy: AttachedResourcePolicy) {
        self.policies.retain(|each| each.stream != policy.stream);
        self.policies.push(policy);
    }
}

/// The phase of a Kinesis destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It becomes active, or fails, at a moment.
    Enabling {
        /// The moment at which the change completes.
        until: Moment,
        fails: bool,
    },
    /// Its precision changes until a moment.
    Updating { until: Moment, was: Option<&'static str> },
    /// It is disabled at a moment.
    Disabling { until: Moment },
}

/// A Kinesis stream that receives a table's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub stream_arn: Text,
    pub phase: Phase,
    /// `MILLISECOND` or `MICROSECOND`, if requested.
    pub precision: Option<&'static str>,
}

impl Destination {
    pub fn status(&self, now: Moment) -> &'static str {
        match &self.phase {
            Phase::Enabling { until, .. } if now < *until => "ENABLING",
            Phase::Enabling { fails: true, .. } => "ENABLE_FAILED",
            Phase::Updating { until, .. } if now < *until => "UPDATING",
            Phase::Enabling { .. } | Phase::Updating { .. } => "ACTIVE",
            Phase::Disabling { until } if now < *until => "DISABLING",
            Phase::Disabling { .. } => "DISABLED",
        }
    }

    /// Whether it prevents the creation of another one.
    pub fn is_live(&self, now: Moment) -> bool {
        !matches!(self.status(now), "ENABLE_FAILED" | "DISABLED")
    }

    /// Whether it is no longer visible.
    pub fn is_gone(&self, now: Moment) -> bool {
        matches!(self.phase, Phase::Disabling { until } if until.plus(VISIBLE_AFTER_DISABLING) <= now)
    }

    pub fn shown_precision(&self, now: Moment) -> Option<&'static str> {
        match &self.phase {
            Phase::Updating { until, was } if now < *until => *was,
            _ => self.precision,
        }
    }
}

/// Contributor Insights of a table or a global index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insights {
    /// The index; `None` for the table's.
    pub index: Option<Name>,
    pub on: bool,
    /// Why they could not be enabled: the exception and its text.
    pub failure: Option<(&'static str, &'static str)>,
    pub mode: &'static str,
    pub requested: Moment,
    pub until: Moment,
}

impl Insights {
    /// The failure for too many rules (API Reference, `FailureException`).
    pub const TOO_MANY_RULES: (&'static str, &'static str) = (
        "LimitExceededException",
        "Per-account Amazon CloudWatch Contributor Insights rule limit reached. Please disable Contributor Insights for other tables/indexes OR disable Contributor Insights rules before retrying.",
    );

    pub fn status(&self, now: Moment) -> &'static str {
        match (self.on, now < self.until) {
            (true, true) => "ENABLING",
            (true, false) if self.failure.is_some() => "FAILED",
            (true, false) => "ENABLED",
            (false, true) => "DISABLING",
            (false, false) => "DISABLED",
        }
    }

    /// The kinds of their rules; a key without a range attribute has no rule for one.
    pub fn rules(&self, has_range: bool) -> impl Iterator<Item = &'static str> {
        let throttled_only = self.mode == "THROTTLED_KEYS";
        let on = self.on && self.failure.is_none();
        let wanted =
            move |kind: &&str| on && (has_range || !kind.starts_with('S')) && (!throttled_only || kind.ends_with('T'));
        ["PKC", "PKT", "SKC", "SKT"].into_iter().filter(wanted)
    }
}

/// A document, and the id of its revision: see [`revision_id`].
pub type Revision = (Arc<str>, i64);

/// The id of a change at `now`: its milliseconds, or one above the id of the last change, since the clock may be frozen.
pub fn revision_id(now: Moment, last: Option<i64>) -> i64 {
    let millis = now.micros().div_euclid(1000);
    last.map_or(millis, |last| millis.max(last.saturating_add(1)))
}

/// A resource policy. It remains as a record of its last change when its document is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedResourcePolicy {
    /// The label of the stream; `None` for the table's.
    pub stream: Option<Text>,
    /// The document after the change.
    pub current: Option<Revision>,
    /// The visible document until the change completes.
    pub before: Option<Revision>,
    pub changed: Moment,
    pub until: Moment,
}

impl AttachedResourcePolicy {
    /// The id of the last change, which may have removed the document.
    pub fn last_revision(&self) -> i64 {
        let id = |revision: &Revision| revision.1;
        let removal = || revision_id(self.changed, self.before.as_ref().map(id));
        self.current.as_ref().map_or_else(removal, id)
    }

    pub fn shown(&self, now: Moment) -> Option<&Revision> {
        if now < self.until {
            self.before.as_ref()
        } else {
            self.current.as_ref()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    #[test]
    fn destinations_show_how_far_they_are() {
        let until = at(10);
        for (phase, before, after) in [
            (Phase::Enabling { until, fails: false }, "ENABLING", "ACTIVE"),
            (Phase::Enabling { until, fails: true }, "ENABLING", "ENABLE_FAILED"),
            (Phase::Updating { until, was: None }, "UPDATING", "ACTIVE"),
            (Phase::Disabling { until }, "DISABLING", "DISABLED"),
        ] {
            let destination = Destination {
                stream_arn: "arn".into(),
                phase,
                precision: None,
            };
            assert_eq!((destination.status(at(9)), destination.status(at(10))), (before, after));
            let gone = destination.is_gone(at(10 + 300));
            assert_eq!(gone, after == "DISABLED");
            let live = !matches!(after, "ENABLE_FAILED" | "DISABLED");
            assert_eq!(destination.is_live(at(10)), live);
        }
    }

    /// A destination is shown for five minutes after it was disabled, and dropped when another one is set.
    #[test]
    fn destinations_are_shown_until_they_are_gone() {
        let until = at(10);
        let destination = |stream_arn: &str, phase| Destination {
            stream_arn: stream_arn.into(),
            phase,
            precision: Some("MICROSECOND"),
        };
        let mut attached = Attachments::default();
        attached.set_destination(destination("one", Phase::Disabling { until }), at(0));
        let shown = |attached: &Attachments, now| {
            let all = attached.shown_destinations(at(now));
            all.map(|each| each.stream_arn.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!([309, 310].map(|now| shown(&attached, now)), ["one", ""]);
        assert!(attached.destination("one", at(309)).is_some() && attached.destination("one", at(310)).is_none());
        let mut later = attached.clone();
        attached.set_destination(destination("two", Phase::Enabling { until, fails: false }), at(309));
        later.set_destination(destination("two", Phase::Enabling { until, fails: false }), at(310));
        assert_eq!((attached.destinations.len(), later.destinations.len()), (2, 1));
        attached.set_destination(destination("one", Phase::Enabling { until, fails: true }), at(309));
        assert_eq!(shown(&attached, 310), "two one");
        // While the precision is updated, the former one is shown.
        let was = Some("MILLISECOND");
        let updating = destination("one", Phase::Updating { until, was });
        assert_eq!(
            [9, 10].map(|now| updating.shown_precision(at(now))),
            [was, Some("MICROSECOND")]
        );
        let disabling = destination("one", Phase::Disabling { until });
        assert_eq!(disabling.shown_precision(at(9)), Some("MICROSECOND"));
    }

    #[test]
    fn a_policy_is_shown_from_its_moment_on() {
        let revision = |number| Some((Arc::from("{}"), number));
        let policy = |stream: Option<&str>, number| AttachedResourcePolicy {
            stream: stream.map(Text::new),
            current: revision(number),
            before: revision(number - 1),
            changed: at(0),
            until: at(10),
        };
        let shown = |now| policy(None, 2).shown(at(now)).map(|revision| revision.1);
        assert_eq!([9, 10].map(shown), [Some(1), Some(2)]);
        let mut attached = Attachments::default();
        for (stream, number) in [(None, 2), (Some("a"), 4), (None, 6), (Some("b"), 8), (Some("a"), 10)] {
            attached.set_policy(policy(stream, number));
        }
        let current = |stream| Some(attached.policy(stream)?.current.as_ref()?.1);
        let found: [Option<i64>; 4] = [None, Some("a"), Some("b"), Some("c")].map(current);
        assert_eq!(found, [Some(6), Some(10), Some(8), None]);
    }

    #[test]
    fn each_change_of_a_policy_has_a_greater_revision() {
        for (now, last, expect) in [
            (5, None, 5000),
            (5, Some(4999), 5000),
            (5, Some(5000), 5001),
            (5, Some(7000), 7001),
            (-1, None, -1000),
        ] {
            assert_eq!(revision_id(at(now), last), expect, "{now} {last:?}");
        }
        let revision = |number| Some((Arc::from("{}"), number));
        for (current, before, expect) in [(7000, None, 7000), (7000, Some(5000), 7000)] {
            let policy = AttachedResourcePolicy {
                stream: None,
                current: revision(current),
                before: before.and_then(revision),
                changed: at(5),
                until: at(5),
            };
            assert_eq!(policy.last_revision(), expect);
            let removed = AttachedResourcePolicy {
                current: None,
                before: policy.current,
                ..policy
            };
            assert_eq!(removed.last_revision(), expect + 1);
        }
    }

    #[test]
    fn insights_show_how_far_they_are() {
        for (on, fails, before, after) in [
            (true, false, "ENABLING", "ENABLED"),
            (true, true, "ENABLING", "FAILED"),
            (false, false, "DISABLING", "DISABLED"),
        ] {
            let insights = Insights {
                index: None,
                on,
                failure: fails.then_some(Insights::TOO_MANY_RULES),
                mode: "THROTTLED_KEYS",
                requested: at(0),
                until: at(10),
            };
            assert_eq!([9, 10].map(|now| insights.status(at(now))), [before, after]);
            assert_eq!(insights.rules(true).count(), if on && !fails { 2 } else { 0 });
        }
    }

    #[test]
    fn rules_follow_key_and_mode() {
        let insights = |on, mode| Insights {
            index: None,
            on,
            failure: None,
            mode,
            requested: at(0),
            until: at(0),
        };
        for (on, mode, range, expect) in [
            (true, "ACCESSED_AND_THROTTLED_KEYS", true, "PKC PKT SKC SKT"),
            (true, "ACCESSED_AND_THROTTLED_KEYS", false, "PKC PKT"),
            (true, "THROTTLED_KEYS", true, "PKT SKT"),
            (false, "THROTTLED_KEYS", true, ""),
        ] {
            let rules: Vec<_> = insights(on, mode).rules(range).collect();
            assert_eq!(rules.join(" "), expect);
        }
    }
}
