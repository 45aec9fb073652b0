//! Attribute values that break a rule: which of several is reported, and in which words.

use std::borrow::Cow;

use crate::error::ApiError;
use crate::request::ValueFaults;

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
    /// A value of no type or of two: never enveloped. One of two is wrapped in ExpressionAttributeValues in every layer.
    Shape,
    /// Everything else.
    Content,
}

/// Which part of a request is judged before which: its key or item, then legacy conditions, then expression values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    #[default]
    Item,
    Legacy,
    /// Parameters of a statement, which has nothing else.
    Parameters,
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
    order: (Part, Rank),
    rule: Rule,
    text: Cow<'static, str>,
}

/// The faults of a request's values: of all that are noted, the one to report.
#[derive(Debug)]
pub(super) struct Faults {
    layer: ValueLayer,
    /// The worst of the key or item and of the legacy conditions.
    in_attributes: Option<Box<Fault>>,
    /// The worst of the expression values.
    in_substitutions: Option<Box<Fault>>,
    part: Part,
}

/// What was noted before an expression's value.
pub(super) struct SetAside(Option<Box<Fault>>);

impl SetAside {
    /// Whether anything was noted.
    pub(super) fn is_fault(&self) -> bool {
        self.0.is_some()
    }
}

impl Faults {
    pub(super) fn new(layer: ValueLayer) -> Faults {
        Faults {
            layer,
            in_attributes: None,
            in_substitutions: None,
            part: Part::Item,
        }
    }

    pub(super) fn older(&self) -> bool {
        self.layer == ValueLayer::Older
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
        let order = (self.part, rank);
        let worst = self.worst();
        if worst.as_ref().is_none_or(|worst| order < worst.order) {
            let text = text.into();
            *worst = Some(Box::new(Fault { order, rule, text }));
        }
    }

    /// The worst of what belongs with the part that is being read.
    fn worst(&mut self) -> &mut Option<Box<Fault>> {
        match self.part {
            Part::ExpressionValues => &mut self.in_substitutions,
            Part::Item | Part::Legacy | Part::Parameters => &mut self.in_attributes,
        }
    }

    /// Lays aside what was noted before a value is read whose faults have words around them.
    pub(super) fn set_aside(&mut self) -> SetAside {
        SetAside(self.worst().take())
    }

    /// Brings back what was laid aside, after putting the value's placeholder to a fault found in it.
    pub(super) fn bring_back(&mut self, before: SetAside, placeholder: &str) {
        let older = self.older();
        if let Some(fault) = self.worst()
            && (older || fault.text == ApiError::AMBIGUOUS_VALUE)
        {
            let text = &fault.text;
            let wrapped = format!("ExpressionAttributeValues contains invalid value: {text} for key {placeholder}");
            fault.text = wrapped.into();
        }
        self.restore(before);
    }

    /// Brings back what was laid aside, after putting the words for a start key to a value without a type or with two.
    pub(super) fn bring_back_of_start_key(&mut self, before: SetAside) {
        if let Some(fault) = self.worst()
            && fault.rule == Rule::Shape
        {
            fault.text = format!("The provided starting key is invalid: {}", fault.text).into();
        }
        self.restore(before);
    }

    /// Brings back what was laid aside.
    pub(super) fn restore(&mut self, before: SetAside) {
        let worst = self.worst();
        if let Some(before) = before.0
            && worst.as_ref().is_none_or(|found| before.order <= found.order)
        {
            *worst = Some(before);
        }
    }

    /// Hands over what was noted of one action, whose turn to be judged comes later.
    pub(super) fn take(&mut self) -> ValueFaults {
        ValueFaults {
            attributes: self.in_attributes.take().map(|fault| self.error(*fault)),
            substitutions: self.in_substitutions.take().map(|fault| self.error(*fault)),
        }
    }

    fn error(&self, fault: Fault) -> ApiError {
        let error = ApiError::validation(fault.text);
        match self.layer {
            ValueLayer::Current { enveloped: true } if fault.rule != Rule::Shape => error.enveloped(),
            _ => error,
        }
    }

    /// The error to answer with, if there is one.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        let faults = self.take();
        faults.attributes.or(faults.substitutions).map_or(Ok(()), Err)
    }
}
