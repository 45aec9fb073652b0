//! The emulator's controls over HTTP: found by method and path, checked, executed, answered in JSON.
#![allow(clippy::unnecessary_wraps, clippy::unused_self)] // all functions in the table of controls have one signature

/// The table of controls, from rows like
/// `"listItems" GET "/_dynatwin/tables/{table}/items" ["after", "limit" 100 1000] takes Json returns Bytes => list_items;`
macro_rules! controls {
    (@takes) => { Takes::Nothing };
    (@takes $takes:ident) => { Takes::$takes };
    (@returns) => { Returns::Json };
    (@returns $returns:ident) => { Returns::$returns };
    (@parameter $name:literal) => { Parameter::new($name) };
    (@parameter $name:literal $default:literal $maximum:literal) => { Parameter::number($name, $default, $maximum) };
    ($(
        $name:literal $method:ident $path:literal $([$($parameter:literal $($default:literal $maximum:literal)?),*])?
        $(takes $takes:ident)? $(returns $returns:ident)? => $run:ident;
    )*) => {
        &[$(Control {
            name: $name,
            method: stringify!($method),
            path: $path,
            parameters: &[$($(controls!(@parameter $parameter $($default $maximum)?)),*)?],
            takes: controls!(@takes $($takes)?),
            returns: controls!(@returns $($returns)?),
            run: |request, writer| request.$run(writer),
        },)*]
    };
}

mod access;
mod clock;
mod conditions;
mod declared;
mod events;
mod explain;
mod expression;
mod faults;
mod indexes;
mod items;
mod overview;
mod replication;
mod snapshot;
mod tables;
mod usage;
mod watch;

pub use declared::CONTROLS;

use std::borrow::Cow;
use std::sync::Arc;

use crate::caller::Caller;
use crate::execute::{AccountControls, ControlFailure, Controls, NotFound};
use crate::journal::Request;
use crate::wire::control::{ControlError, ControlResult, Json, Parameter, Query, shortened};
use crate::wire::encode::Writer;
use crate::wire::envelope::{ControlBody, ControlCall, EVENT_STREAM, NOT_JSON, OCTET_STREAM};

/// Which controls are permitted.
///
/// ```
/// use dynatwin_engine::Allowed;
///
/// assert_eq!(Allowed::default(), Allowed::All);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// All controls are served, which is the default.
    #[default]
    All,
    /// Only controls that change nothing are served.
    ReadOnly,
}

/// A control of the emulator over HTTP. Controls perform actions that no API request can, and have no `X-Amz-Target`.
///
/// ```
/// use dynatwin_engine::controls::CONTROLS;
///
/// let pause = CONTROLS.iter().find(|control| control.name == "pauseIndex").unwrap();
/// assert_eq!((pause.method, pause.path), ("POST", "/_dynatwin/tables/{table}/indexes/{index}/pause"));
/// assert!(pause.changes());
/// ```
pub struct Control {
    /// The value of `operationId` in `openapi.json`.
    pub name: &'static str,
    /// Its HTTP method: everything except GET mutates.
    pub method: &'static str,
    /// Its path, with parameters in braces.
    pub path: &'static str,
    /// The parameters of its query. A control without any ignores the query.
    pub parameters: &'static [Parameter],
    /// The body of its requests.
    pub takes: Takes,
    /// The body of its responses.
    pub returns: Returns,
    /// Executes it: writes the response body.
    pub(crate) run: fn(&ControlRequest<'_>, &mut Writer) -> ControlResult<()>,
}

/// The request body of a control.
///
/// ```
/// use dynatwin_engine::controls::{CONTROLS, Takes};
///
/// let add = CONTROLS.iter().find(|control| control.name == "addFault").unwrap();
/// assert_eq!(add.takes, Takes::Json);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The request has no body.
    Nothing,
    /// The body is JSON, and may be omitted.
    Options,
    /// The body is JSON, and required.
    Json,
    /// The body is `application/octet-stream`, such as a snapshot.
    Bytes,
}

/// The response body of a control.
///
/// ```
/// use dynatwin_engine::controls::{CONTROLS, Returns};
///
/// let snapshot = CONTROLS.iter().find(|control| control.name == "getSnapshot").unwrap();
/// assert_eq!(snapshot.returns, Returns::Bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// The body of the answer is JSON.
    Json,
    /// JSON, or server-sent events if the request accepts those.
    JsonOrEvents,
    /// The body of the answer is `application/octet-stream`.
    Bytes,
}

/// A control that is being executed: its input, and its caller. Each control is a method, with the control's name in
/// snake case.
pub struct ControlRequest<'a> {
    twin: &'a Controls,
    control: &'static Control,
    allowed: Allowed,
    named: Option<&'a Caller>,
    parts: &'a [Cow<'a, str>],
    query: Query<'a>,
    /// Whether the response is a stream of server-sent events.
    streams: bool,
    /// The number of the last server-sent event that was received.
    last_event: Option<u64>,
    body: Json,
    /// The body of a control that takes bytes.
    bytes: &'a [u8],
}

impl From<ControlFailure> for ControlError {
    fn from(failure: ControlFailure) -> ControlError {
        match failure {
            ControlFailure::NotFound(error) => error.into(),
            ControlFailure::NotStored(_) => ControlError::unavailable(failure.to_string()),
        }
    }
}

impl From<NotFound> for ControlError {
    fn from(error: NotFound) -> ControlError {
        ControlError::not_found(error.to_string())
    }
}

/// Executes a control on the tables of the caller named by the credentials. Returns the response body, and its media
/// type if that is not JSON.
pub fn answer(
    call: &ControlCall<'_>,
    named: Option<&Caller>,
    twin: &Controls,
    allowed: Allowed,
) -> ControlResult<(Vec<u8>, Option<&'static str>)> {
    if call.foreign {
        return Err(ControlError::forbidden(
            "Controls refuse requests of pages of another origin: send them from outside a browser, or from a page of this host.",
        ));
    }
    let parts: Vec<Cow<'_, str>> = call.parts().collect();
    let control = find(call, &parts)?;
    if control.changes() && allowed == Allowed::ReadOnly {
        return Err(ControlError::forbidden(
            "This twin was started with --no-control: it can be read but not changed.",
        ));
    }
    let sent = call.parameters();
    let (body, bytes) = body_of(control, call)?;
    let requested = ControlRequest {
        twin,
        control,
        allowed,
        named,
        parts: &parts,
        query: Query::of(&sent, control.parameters)?,
        streams: control.streams(call),
        last_event: call.last_event,
        body,
        bytes,
    };
    let mut writer = Writer::with_capacity(256);
    (control.run)(&requested, &mut writer)?;
    Ok((writer.finish(), control.media(call)))
}

/// The control of this method and path.
fn find(call: &ControlCall<'_>, parts: &[Cow<'_, str>]) -> ControlResult<&'static Control> {
    let here: Vec<&Control> = CONTROLS.iter().filter(|control| control.is_at(parts)).collect();
    if let Some(control) = here.iter().find(|control| control.method == call.method) {
        return Ok(control);
    }
    let path = shortened(call.path);
    if here.is_empty() {
        return Err(ControlError::not_found(format!(
            "There is no control at {path}: /_dynatwin/openapi.json lists them."
        )));
    }
    let methods: Vec<&str> = here.iter().map(|control| control.method).collect();
    let methods = methods.join(", ");
    Err(ControlError::not_allowed(
        &methods,
        format!("{path} accepts {methods}, not {}.", shortened(call.method)),
    ))
}

/// The error for a body that is not declared as bytes.
fn not_bytes() -> ControlError {
    ControlError::not_json(format!("Send it with the header content-type: {OCTET_STREAM}."))
}

/// The body, if the control takes one: JSON, and bytes.
fn body_of<'a>(control: &Control, call: &'a ControlCall<'_>) -> ControlResult<(Json, &'a [u8])> {
    let body = call.body.as_ref().map_err(|error| match control.takes {
        Takes::Bytes if *error == ControlError::not_json(NOT_JSON) => not_bytes(),
        _ => error.clone(),
    })?;
    let refusal = |problem: &str| ControlError::malformed(format!("{} {} {problem}.", control.method, control.path));
    match (control.takes, body) {
        (Takes::Bytes, ControlBody::Bytes(bytes)) => Ok((Json::Null, bytes)),
        (Takes::Bytes, ControlBody::Json(json)) if json.is_empty() => Err(refusal("requires a body")),
        (Takes::Bytes, ControlBody::Json(_)) => Err(not_bytes()),
        (_, ControlBody::Bytes(_)) => Err(ControlError::not_json(NOT_JSON)),
        (Takes::Json, ControlBody::Json(json)) if json.is_empty() => Err(refusal("requires a body")),
        (Takes::Json, ControlBody::Json(json)) => Ok((Json::read(json)?, &[])),
        (_, ControlBody::Json(json)) => {
            let options = if json.is_empty() { Json::Null } else { Json::read(json)? };
            if options.is_empty() {
                Ok((Json::Null, &[]))
            } else if control.takes == Takes::Options {
                Ok((options, &[]))
            } else {
                Err(refusal("does not accept a body"))
            }
        }
    }
}

impl Control {
    /// Whether it changes the emulator.
    pub fn changes(&self) -> bool {
        self.method != "GET"
    }

    /// Whether the response to this call is a stream of server-sent events.
    fn streams(&self, call: &ControlCall<'_>) -> bool {
        self.returns == Returns::JsonOrEvents && call.accepts_events
    }

    /// The media type of the response to this call, if that is not JSON.
    fn media(&self, call: &ControlCall<'_>) -> Option<&'static str> {
        match self.returns {
            Returns::Bytes => Some(OCTET_STREAM),
            _ => self.streams(call).then_some(EVENT_STREAM),
        }
    }

    /// The segments of its path after `/_dynatwin/`.
    fn segments(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let path = self.path.strip_prefix("/_dynatwin/").unwrap_or_default();
        path.split('/').filter(|segment| !segment.is_empty())
    }

    fn is_at(&self, parts: &[Cow<'_, str>]) -> bool {
        let segments = self.segments();
        let fits = |(own, given): (&str, &Cow<'_, str>)| own == given || own.starts_with('{') && !given.is_empty();
        segments.clone().count() == parts.len() && segments.zip(parts).all(fits)
    }
}

impl ControlRequest<'_> {
    /// The value of a parameter of the path.
    fn part(&self, name: &str) -> &str {
        let is_named = |segment: &str| segment.trim_matches(['{', '}']) == name && segment != name;
        let at = self.control.segments().position(is_named);
        let part = at.and_then(|at| self.parts.get(at));
        part.map(Cow::as_ref).unwrap_or_default()
    }

    /// The table named in the path, and the controls of its owner: the caller named by the credentials; without credentials, the only
    /// owner of a table of this name.
    fn table(&self) -> ControlResult<(AccountControls<&Controls>, &str)> {
        let table = self.part("table");
        if let Some(caller) = self.caller_or_shared() {
            return Ok((AccountControls::new(self.twin, caller), table));
        }
        let scopes = self.twin.state.catalog().scopes();
        let mut owners = scopes
            .into_iter()
            .filter(|(_, region)| region.tables.read().contains_key(table))
            .map(|(scope, _)| Caller {
                access_key: scope.account,
                region: scope.region,
            });
        let table_name = shortened(table);
        let hint = "name the account and the region in the credentials of an Authorization header";
        match (owners.next(), owners.next()) {
            (Some(owner), None) => Ok((AccountControls::new(self.twin, owner), table)),
            (None, _) => Err(ControlError::not_found(format!(
                "No account has a table {table_name}; to refer to a future one, {hint} \
                 (curl --user ACCOUNT:x --aws-sigv4 aws:amz:REGION:dynamodb)."
            ))),
            (Some(one), Some(other)) => {
                let of = |caller: Caller| format!("{} in {}", caller.access_key, caller.region);
                let (one, other) = (of(one), of(other));
                Err(ControlError::malformed(format!(
                    "{one} and {other} have a table {table_name}: {hint}."
                )))
            }
        }
    }

    /// The logged request whose number is in the path.
    fn logged_request(&self) -> ControlResult<Arc<Request>> {
        let number = self.part("number");
        let found = number.parse().ok();
        let found = found.and_then(|number| self.twin.state.journal().request(number));
        let found = found.filter(|request| self.sees(&request.caller));
        found.ok_or_else(|| {
            let number = shortened(number);
            ControlError::not_found(format!("Request {number} is not in the log."))
        })
    }

    /// Whether the work of this caller is shown: to callers without credentials, everything is.
    fn sees(&self, caller: &Caller) -> bool {
        self.named.is_none_or(|named| named == caller)
    }

    /// The named caller. Without credentials, a caller without a name if all callers share their tables, otherwise `None`.
    fn caller_or_shared(&self) -> Option<Caller> {
        let nobody = || Caller {
            access_key: "".into(),
            region: "".into(),
        };
        self.named.cloned().or_else(|| self.twin.shared_db.then(nobody))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_controls_are_at_one_place() {
        for control in CONTROLS {
            let parts: Vec<Cow<'_, str>> = control.path["/_dynatwin/".len()..]
                .split('/')
                .filter(|part| !part.is_empty())
                .map(Cow::Borrowed)
                .collect();
            let there = CONTROLS
                .iter()
                .filter(|other| other.method == control.method && other.is_at(&parts));
            assert_eq!(there.count(), 1, "{} {}", control.method, control.path);
            let named = CONTROLS.iter().filter(|other| other.name == control.name);
            assert_eq!(named.count(), 1, "{}", control.name);
        }
    }
}
