//! Attribute values that break a rule: which of several is reported, and in which words.

use std::borrow::Cow;

use crate::error::ApiError;

/// Which generation of the service's value checks a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLayer {
    /// The current one: Put, Update and Delete put most of its texts into an envelope, reads leave them bare.
    Current {
        /// Whether the texts stand behind `1 validation error detected: `.
        enveloped: bool,
    },
    /// The older one: BatchWriteItem and the transactions.
    Older,
}

/// What kind of rule was broken: it decides what is put around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A value of no type or of two: never enveloped.
    Shape,
    /// What a set must have: wrapped in ExpressionAttributeValues in every layer.
    EmptySet,
    /// Everything else.
    Content,
}

/// Which part of a request is judged before which: its key or item, then legacy conditions, then expression values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    #[default]
    Item,
    Legacy,
    ExpressionValues,
}

/// Within one part: measured in transactions, where an empty top-level name beats a value that is nested too deep, and
/// that beats an empty name further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    TopLevelName,
    Value,
    NestedName,
}

#[derive(Debug)]
struct Fault {
    order: (u32, Part, Rank),
    rule: Rule,
    text: Cow<'static, str>,
}

/// The faults of a request's values: of all that are noted, the one to report.
#[derive(Debug)]
pub(super) struct Faults {
    layer: ValueLayer,
    worst: Option<Box<Fault>>,
    action: u32,
    part: Part,
}

/// What was noted before an expression's value.
pub(super) struct SetAside(Option<Box<Fault>>);

impl Faults {
    pub(super) fn new(layer: ValueLayer) -> Faults {
        Faults {
            layer,
            worst: None,
            action: 0,
            part: Part::Item,
        }
    }

    pub(super) fn older(&self) -> bool {
        self.layer == ValueLayer::Older
    }

    /// What follows belongs to the next action of a batch or transaction: actions are judged one after the other.
    pub(super) fn next_action(&mut self) {
        self.action = self.action.saturating_add(1);
    }

    /// What follows belongs to this part of the request; returns what came before belonged to.
    pub(super) fn enter(&mut self, part: Part) -> Part {
        std::mem::replace(&mut self.part, part)
    }

    /// The part that is being read.
    pub(super) fn part(&self) -> Part {
        self.part
    }

    pub(super) fn note(&mut self, rule: Rule, rank: Rank, text: impl Into<Cow<'static, str>>) {
        let order = (self.action, self.part, rank);
        if self.worst.as_ref().is_none_or(|worst| order < worst.order) {
            let text = text.into();
            self.worst = Some(Box::new(Fault { order, rule, text }));
        }
    }

    /// Lays aside what was noted before an expression's value is read.
    pub(super) fn set_aside(&mut self) -> SetAside {
        SetAside(self.worst.take())
    }

    /// Brings back what was laid aside, after putting the value's placeholder to a fault found in it.
    pub(super) fn bring_back(&mut self, before: SetAside, placeholder: &str) {
        if let Some(fault) = &mut self.worst
            && (self.layer == ValueLayer::Older || fault.rule == Rule::EmptySet)
        {
            let text = &fault.text;
            let wrapped = format!("ExpressionAttributeValues contains invalid value: {text} for key {placeholder}");
            fault.text = wrapped.into();
        }
        if let Some(before) = before.0
            && self.worst.as_ref().is_none_or(|found| before.order <= found.order)
        {
            self.worst = Some(before);
        }
    }

    /// The error to answer with, if there is one.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        let Some(fault) = self.worst else {
            return Ok(());
        };
        let error = ApiError::validation(fault.text);
        Err(match self.layer {
            ValueLayer::Current { enveloped: true } if fault.rule != Rule::Shape => error.enveloped(),
            _ => error,
        })
    }
}
