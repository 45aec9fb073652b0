//! The controls of the request log.

use super::ControlRequest;
use crate::storage::Scope;
use crate::wire::control::{ControlResult, Json, Members, write_datapoint, write_metric, write_request, write_scan};
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    /// Starts recording; with `bodies`, also the bodies of requests and responses; with `events`, also events.
    pub fn watch(&self, writer: &mut Writer) -> ControlResult<()> {
        let (bodies, events) = match &self.body {
            Json::Null => (None, None),
            body => {
                let members = Members::of("watch", body, &["bodies", "events"])?;
                (members.flag("bodies")?, members.flag("events")?)
            }
        };
        self.twin.watch(true);
        let journal = self.twin.state.journal();
        bodies.inspect(|keeps| journal.keep_bodies(*keeps));
        events.inspect(|listens| journal.listen(*listens));
        show(self, writer);
        Ok(())
    }

    /// Stops recording; the log is kept.
    pub fn unwatch(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.watch(false);
        let journal = self.twin.state.journal();
        journal.keep_bodies(false);
        journal.listen(false);
        show(self, writer);
        Ok(())
    }

    /// Lists the latest requests, oldest first, of one caller, or of all.
    pub fn list_requests(&self, writer: &mut Writer) -> ControlResult<()> {
        let query = self.query;
        let (after, bodies) = (query.whole("after")?.unwrap_or(0), query.flag("bodies")?);
        let most = query.limit()?;
        let mut object = Object::open(writer);
        seen(self, &mut object);
        let mut list = object.list("requests");
        let requests = self.twin.state.journal().requests_after(after);
        let shown = requests.iter().filter(|request| self.sees(&request.caller));
        for request in shown.take(most) {
            write_request(request, bodies, list.element());
        }
        list.close();
        object.close();
        Ok(())
    }

    /// Writes one request, with its bodies if they were recorded.
    pub fn get_request(&self, writer: &mut Writer) -> ControlResult<()> {
        write_request(&*self.logged_request()?, true, writer);
        Ok(())
    }

    /// Clears all requests, scans and counters.
    pub fn forget_requests(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.state.journal().clear();
        show(self, writer);
        Ok(())
    }

    /// Lists complete reads of tables and indexes, by one caller, or by all.
    pub fn list_scans(&self, writer: &mut Writer) -> ControlResult<()> {
        let mut list = List::open(writer);
        for scan in self.twin.state.journal().scans() {
            if self.sees(&scan.caller) {
                write_scan(&scan, list.element());
            }
        }
        list.close();
        Ok(())
    }

    /// Writes counters and gauges, of one account and region, or of each that was seen or has tables.
    pub fn get_metrics(&self, writer: &mut Writer) -> ControlResult<()> {
        by_scope(self, writer, "metrics", |scope, list| {
            for metric in self.twin.metrics_of(scope) {
                write_metric(&metric, list.element());
            }
        });
        Ok(())
    }

    /// Writes counters by the minute, of one account and region, or of each that was seen or has tables.
    pub fn get_metrics_by_minute(&self, writer: &mut Writer) -> ControlResult<()> {
        by_scope(self, writer, "datapoints", |scope, list| {
            for point in self.twin.state.journal().by_minute(&scope.owner()) {
                write_datapoint(&point, list.element());
            }
        });
        Ok(())
    }
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

/// Writes a list with an object for each account and region, in which `member` is a list that `write` fills.
fn by_scope(requested: &ControlRequest<'_>, writer: &mut Writer, member: &str, write: impl Fn(&Scope, &mut List<'_>)) {
    let named = requested.caller_or_shared().map(|caller| requested.twin.scope(&caller));
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
