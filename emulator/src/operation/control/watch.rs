//! The controls of the request log.

use super::ControlRequest;
use crate::journal::MOST_REQUESTS;
use crate::storage::Scope;
use crate::wire::control::{ControlResult, Json, Members, write_datapoint, write_metric, write_request, write_scan};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

/// Starts recording; with `bodies`, also the bodies of requests and responses; with `events`, also events.
pub fn watch(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (bodies, events) = match &requested.body {
        Json::Null => (None, None),
        body => {
            let members = Members::of("watch", body, &["bodies", "events"])?;
            (members.flag("bodies")?, members.flag("events")?)
        }
    };
    requested.twin.watch(true);
    let journal = requested.twin.state.journal();
    bodies.inspect(|keeps| journal.keep_bodies(*keeps));
    events.inspect(|listens| journal.listen(*listens));
    show(requested, writer);
    Ok(())
}

/// Stops recording; the log is kept.
pub fn unwatch(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    requested.twin.watch(false);
    let journal = requested.twin.state.journal();
    journal.keep_bodies(false);
    journal.listen(false);
    show(requested, writer);
    Ok(())
}

/// Writes whether recording is on, and the number of logged requests.
fn show(requested: &ControlRequest<'_>, writer: &mut Writer) {
    let mut object = Object::open(writer);
    seen(requested, &mut object);
    object.close();
}

fn seen(requested: &ControlRequest<'_>, object: &mut Object<'_>) {
    let journal = requested.twin.state.journal();
    object.boolean("watched", journal.is_watched());
    object.boolean("bodies", journal.keeps_bodies());
    object.boolean("events", journal.events().is_requested());
    object.integer("seen", journal.seen() as i64);
}

/// Lists the latest requests, oldest first, of one caller, or of all.
pub fn requests(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let query = requested.query(&["after", "limit", "bodies"])?;
    let (after, bodies) = (query.whole("after")?.unwrap_or(0), query.flag("bodies")?);
    let most = query.limit(MOST_REQUESTS, MOST_REQUESTS)?;
    let mut object = Object::open(writer);
    seen(requested, &mut object);
    let mut list = object.list("requests");
    let requests = requested.twin.state.journal().requests_after(after);
    let shown = requests.iter().filter(|request| requested.sees(&request.caller));
    for request in shown.take(most) {
        write_request(request, bodies, list.element());
    }
    list.close();
    object.close();
    Ok(())
}

/// Writes one request, with its bodies if they were recorded.
pub fn request(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    write_request(&*requested.logged_request()?, true, writer);
    Ok(())
}

/// Clears all requests, scans and counters.
pub fn forget(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    requested.twin.state.journal().clear();
    show(requested, writer);
    Ok(())
}

/// Lists complete reads of tables and indexes, by one caller, or by all.
pub fn scans(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let mut list = List::open(writer);
    for scan in requested.twin.state.journal().scans() {
        if requested.sees(&scan.caller) {
            write_scan(&scan, list.element());
        }
    }
    list.close();
    Ok(())
}

/// Writes counters and gauges, of one account and region, or of each that was seen or has tables.
pub fn metrics(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    by_scope(requested, writer, "metrics", |scope, list| {
        for metric in requested.twin.metrics(scope) {
            write_metric(&metric, list.element());
        }
    });
    Ok(())
}

/// Writes counters by the minute, of one account and region, or of each that was seen or has tables.
pub fn minutes(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    by_scope(requested, writer, "datapoints", |scope, list| {
        for point in requested.twin.state.journal().by_minute(&scope.owner()) {
            write_datapoint(&point, list.element());
        }
    });
    Ok(())
}

/// Writes a list with an object for each account and region, in which `member` is a list that `write` fills.
fn by_scope(requested: &ControlRequest<'_>, writer: &mut Writer, member: &str, write: impl Fn(&Scope, &mut List<'_>)) {
    let named = requested.anybody().map(|caller| requested.twin.scope(&caller));
    let mut list = List::open(writer);
    for scope in requested.twin.scopes() {
        if named.as_ref().is_some_and(|named| *named != scope) {
            continue;
        }
        let mut object = list.object();
        if !requested.twin.shared_db {
            object.string("accessKey", &scope.account);
            object.string("region", &scope.region);
        }
        let mut inner = object.list(member);
        write(&scope, &mut inner);
        inner.close();
        object.close();
    }
    list.close();
}
