//! Refusals of fault rules in JSON.

use super::conditions::{read_lag, seconds, write_lag};
use super::json::{Json, Members, shortened};
use super::{ControlError, ControlResult, write_number};
use crate::fault::{Exceeded, JobFault, KmsFault, Verdict};
use crate::wire::encode::Writer;
use crate::wire::error::{exception, exception_named};
use crate::wire::object::Object;

pub(super) const VERDICTS: &str = "throttle, { throttle: reason }, internalServerError, internalServerErrorAfterApply, \
                        serviceUnavailable, itemCollectionSizeLimitExceeded, limitExceeded, { exception: name }, \
                        { kms: fault }, { wait: seconds }, reset, answerLost, { truncate: bytes }, corruptChecksum, failJob or \
                        { failJob: reason }.";

/// The refusals that have nothing but a name.
pub(super) const NAMED: [(&str, Verdict); 10] = [
    ("throttle", Verdict::Throttle(None)),
    ("internalServerError", Verdict::InternalServerError),
    ("internalServerErrorAfterApply", Verdict::InternalServerErrorAfterApply),
    ("serviceUnavailable", Verdict::ServiceUnavailable),
    (
        "itemCollectionSizeLimitExceeded",
        Verdict::ItemCollectionSizeLimitExceeded,
    ),
    ("limitExceeded", Verdict::LimitExceeded),
    ("reset", Verdict::Reset),
    ("answerLost", Verdict::AnswerLost),
    ("corruptChecksum", Verdict::CorruptChecksum),
    ("failJob", Verdict::FailJob(JobFault::Internal)),
];

/// The reasons of a throttle.
const REASONS: [(&str, Exceeded); 4] = [
    ("ProvisionedThroughput", Exceeded::ProvisionedThroughput),
    ("KeyRangeThroughput", Exceeded::KeyRangeThroughput),
    ("AccountLimit", Exceeded::AccountLimit),
    ("MaxOnDemandThroughput", Exceeded::MaxOnDemandThroughput),
];

/// The states of an encryption key that make requests fail.
const KMS_FAULTS: [(&str, KmsFault); 3] = [
    ("AccessDenied", KmsFault::AccessDenied),
    ("Disabled", KmsFault::Disabled),
    ("NotFound", KmsFault::NotFound),
];

/// Why a job fails, by the failure code that it ends with.
const JOB_FAULTS: [(&str, JobFault); 4] = [
    ("InternalServerError", JobFault::Internal),
    ("S3NoSuchBucket", JobFault::NoSuchBucket),
    ("S3AccessDenied", JobFault::AccessDenied),
    ("KmsNotFoundException", JobFault::KmsNotFound),
];

/// The name of a value in its table.
fn name_of<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    let found = table.iter().find(|(_, known)| *known == value);
    found.map_or("", |(name, _)| name)
}

/// The value of a name; `what` describes the kind of name.
fn named<T: Copy>(table: &[(&'static str, T)], name: &str, what: &str) -> ControlResult<T> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        let (last, others) = known.split_last().unwrap_or((&"", &[]));
        let name = shortened(name);
        ControlError::malformed(format!("\"{name}\" is not {what}: {} or {last}.", others.join(", ")))
    })
}

/// The name of the exceeded limit.
pub fn exceeded_name(exceeded: Exceeded) -> &'static str {
    name_of(&REASONS, exceeded)
}

/// A verdict: a name, or an object with one member.
pub(super) fn read_verdict(sent: &Json) -> ControlResult<Verdict> {
    match sent {
        Json::Text(word) => {
            let found = NAMED.iter().find(|(name, _)| name == word);
            return found.map(|(_, verdict)| *verdict).ok_or_else(|| {
                let word = shortened(word);
                ControlError::malformed(format!("\"{word}\" is not a verdict: {VERDICTS}"))
            });
        }
        Json::Object(_) => {}
        _ => return Err(ControlError::malformed(format!("A rule needs a verdict: {VERDICTS}"))),
    }
    let known = ["throttle", "exception", "kms", "wait", "truncate", "failJob"];
    let members = Members::of("verdict", sent, &known)?;
    let mut there = known.into_iter().filter(|name| members.get(name).is_some());
    let (Some(name), None) = (there.next(), there.next()) else {
        return Err(ControlError::malformed(format!(
            "A verdict must have one effect: {VERDICTS}"
        )));
    };
    let text = || members.text(name).map(Option::unwrap_or_default);
    Ok(match name {
        "throttle" => Verdict::Throttle(Some(named(&REASONS, text()?, "a reason for a throttle")?)),
        "kms" => Verdict::Kms(named(&KMS_FAULTS, text()?, "an error of a key")?),
        "failJob" => Verdict::FailJob(named(&JOB_FAULTS, text()?, "a reason for a failed job")?),
        "exception" => read_exception(text()?)?,
        "wait" => read_wait(members.get("wait").unwrap_or(&Json::Null))?,
        _ => match members.number("truncate")? {
            Some(bytes) if bytes >= 0.0 && bytes.fract() == 0.0 => Verdict::Truncate(bytes as usize),
            _ => {
                return Err(ControlError::malformed(
                    "verdict.truncate must be a whole number of bytes from 0.",
                ));
            }
        },
    })
}

fn read_exception(name: &str) -> ControlResult<Verdict> {
    exception_named(name).map(Verdict::Exception).ok_or_else(|| {
        let name = shortened(name);
        ControlError::malformed(format!("\"{name}\" is not an exception of the API."))
    })
}

fn read_wait(sent: &Json) -> ControlResult<Verdict> {
    Ok(match sent {
        Json::Number(length) => Verdict::Wait(seconds("verdict.wait", *length)?),
        _ => Verdict::WaitAbout(read_lag("verdict.wait", sent)?),
    })
}

/// A verdict as [`read_verdict`] reads it.
pub(super) fn write_verdict(verdict: Verdict, writer: &mut Writer) {
    if let Some((name, _)) = NAMED.iter().find(|(_, named)| *named == verdict) {
        writer.string(name);
        return;
    }
    let mut object = Object::open(writer);
    match verdict {
        Verdict::Throttle(Some(exceeded)) => object.string("throttle", exceeded_name(exceeded)),
        Verdict::Exception(kind) => object.string("exception", exception(kind)),
        Verdict::Kms(fault) => object.string("kms", name_of(&KMS_FAULTS, fault)),
        Verdict::FailJob(fault) => object.string("failJob", name_of(&JOB_FAULTS, fault)),
        Verdict::Wait(length) => write_number(length.as_secs_f64(), object.member("wait")),
        Verdict::WaitAbout(lag) => write_lag(lag, object.member("wait")),
        Verdict::Truncate(bytes) => write_number(bytes as f64, object.member("truncate")),
        // All others have a name.
        _ => {}
    }
    object.close();
}
