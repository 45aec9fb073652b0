//! Invalid attribute values: which of several is reported, and with which text.

use std::borrow::Cow;

use crate::error::ApiError;
use crate::limits;
use crate::request::ValueViolations;

/// Which generation of the service's value checks a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLayer {
    /// The current one: Put, Update and Delete put most of its texts into an envelope, reads leave them bare.
    Current {
        /// Whether the texts are prefixed with `1 validation error detected: `.
        enveloped: bool,
    },
    /// The older one: BatchWriteItem and the transactions.
    Older,
}

/// The kind of the broken rule, which determines the envelope of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenRule {
    /// A value of no type or of two: never enveloped. One of two is wrapped in ExpressionAttributeValues in every layer.
    Shape,
    Content,
}

/// The order in which the parts of a request are checked: its key or item, then legacy conditions, then expression values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestPart {
    #[default]
    Item,
    Legacy,
    Parameters,
    ExpressionValues,
}

/// Within one part: measured in transactions, where an empty top-level name beats a value that is nested too deep, and
/// that beats an empty name further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueErrorRank {
    TopLevelName,
    Value,
    NestedName,
}

#[derive(Debug)]
struct ValueError {
    order: (RequestPart, ValueErrorRank),
    rule: BrokenRule,
    text: Cow<'static, str>,
}

/// The violations of a request's values: of all that are noted, the one to report.
#[derive(Debug)]
pub(super) struct ValueErrors {
    layer: ValueLayer,
    /// The most_important of the key or item and of the legacy conditions.
    in_attributes: Option<Box<ValueError>>,
    /// The most_important of the expression values.
    in_substitutions: Option<Box<ValueError>>,
    part: RequestPart,
    is_overly_nested: bool,
}

/// The errors noted before an expression's value.
pub(super) struct DeferredErrors(Option<Box<ValueError>>);

impl DeferredErrors {
    pub(super) fn has_any(&self) -> bool {
        self.0.is_some()
    }
}

impl ValueErrors {
    pub(super) fn new(layer: ValueLayer) -> ValueErrors {
        ValueErrors {
            layer,
            in_attributes: None,
            in_substitutions: None,
            part: RequestPart::Item,
            is_overly_nested: false,
        }
    }

    /// Notes a list or map that is nested too deeply.
    pub(super) fn note_depth(&mut self, depth: usize) {
        self.note(BrokenRule::Content, ValueErrorRank::Value, ApiError::NESTING);
        self.is_overly_nested |= depth > limits::NESTING_OF_CURRENT_FRAMEWORK;
    }

    /// Whether a value is nested too deeply for the current framework, so that the older one checks the request.
    pub(super) fn is_overly_nested(&self) -> bool {
        self.is_overly_nested
    }

    pub(super) fn older(&self) -> bool {
        self.layer == ValueLayer::Older
    }

    /// Enters a part of the request; returns the part left.
    pub(super) fn enter(&mut self, part: RequestPart) -> RequestPart {
        std::mem::replace(&mut self.part, part)
    }

    /// The part that is being read.
    pub(super) fn part(&self) -> RequestPart {
        self.part
    }

    pub(super) fn note(&mut self, rule: BrokenRule, rank: ValueErrorRank, text: impl Into<Cow<'static, str>>) {
        let order = (self.part, rank);
        let most_important = self.most_important();
        if most_important
            .as_ref()
            .is_none_or(|most_important| order < most_important.order)
        {
            let text = text.into();
            *most_important = Some(Box::new(ValueError { order, rule, text }));
        }
    }

    /// The most important error of the current part.
    fn most_important(&mut self) -> &mut Option<Box<ValueError>> {
        match self.part {
            RequestPart::ExpressionValues => &mut self.in_substitutions,
            RequestPart::Item | RequestPart::Legacy | RequestPart::Parameters => &mut self.in_attributes,
        }
    }

    /// Sets errors aside before reading a value whose own errors are wrapped.
    pub(super) fn set_aside(&mut self) -> DeferredErrors {
        DeferredErrors(self.most_important().take())
    }

    /// Restores the errors that were set aside, after adding the value's placeholder to an error found in it.
    pub(super) fn restore_with_placeholder(&mut self, before: DeferredErrors, placeholder: &str) {
        let older = self.older();
        if let Some(error) = self.most_important()
            && (older || error.text == ApiError::AMBIGUOUS_VALUE)
        {
            let text = &error.text;
            let wrapped = format!("ExpressionAttributeValues contains invalid value: {text} for key {placeholder}");
            error.text = wrapped.into();
        }
        self.restore(before);
    }

    /// Restores the errors that were set aside, after wrapping the error of a start key's value without a type or with
    /// two.
    pub(super) fn restore_of_start_key(&mut self, before: DeferredErrors) {
        if let Some(error) = self.most_important()
            && error.rule == BrokenRule::Shape
        {
            error.text = format!("The provided starting key is invalid: {}", error.text).into();
        }
        self.restore(before);
    }

    /// Restores the errors that were set aside.
    pub(super) fn restore(&mut self, before: DeferredErrors) {
        let most_important = self.most_important();
        if let Some(before) = before.0
            && most_important.as_ref().is_none_or(|found| before.order <= found.order)
        {
            *most_important = Some(before);
        }
    }

    /// Takes the errors of one action, which are reported when it is its turn.
    pub(super) fn take(&mut self) -> ValueViolations {
        ValueViolations {
            attributes: self.in_attributes.take().map(|error| self.error(*error)),
            substitutions: self.in_substitutions.take().map(|error| self.error(*error)),
        }
    }

    fn error(&self, most_important: ValueError) -> ApiError {
        let error = ApiError::validation(most_important.text);
        match self.layer {
            ValueLayer::Current { enveloped: true } if most_important.rule != BrokenRule::Shape => error.enveloped(),
            _ => error,
        }
    }

    /// The error to answer with, if there is one.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        let violations = self.take();
        violations.attributes.or(violations.substitutions).map_or(Ok(()), Err)
    }
}
