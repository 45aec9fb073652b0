//! Explains in sentences the cost and the result of a request.

use super::ControlRequest;
use crate::error::{ErrorKind, Exceeded};
use crate::journal::{BetterRead, Injected, ItemAction, RecordedAccess, Request};
use crate::value::Name;
use crate::wire::control::{ControlResult, Json, write_number};
use crate::wire::encode::Writer;
use crate::wire::error::exception;
use crate::wire::object::Object;
use crate::wire::reader::member_text;

impl ControlRequest<'_> {
    /// Explains a request in the log.
    pub fn explain_request(&self, writer: &mut Writer) -> ControlResult<()> {
        let request = self.logged_request()?;
        let mut object = Object::open(writer);
        object.integer("request", request.number as i64);
        object.string("operation", &request.operation);
        object.integer("status", i64::from(request.status));
        let summary = summary(&request);
        object.strings("sentences", summary.iter().map(String::as_str));
        object.integer("scanned", request.scanned as i64);
        object.integer("returned", request.returned as i64);
        write_number(request.read.as_f64(), object.member("readUnits"));
        write_number(request.write.as_f64(), object.member("writeUnits"));
        let mut entries = object.list("entries");
        for access in &request.accesses {
            let mut entry = entries.object();
            entry.string("act", access.act.name());
            entry.string("table", &access.table);
            if let Some(index) = &access.index {
                entry.string("index", index);
            }
            entry.map("key", &access.key);
            let sentences = of_entry(&request, access);
            entry.strings("sentences", sentences.iter().map(String::as_str));
            let mut better = entry.list("better");
            for read in access.filter.iter().flat_map(|filter| &filter.better) {
                write_better(access, read, better.object());
            }
            better.close();
            entry.close();
        }
        entries.close();
        object.close();
        Ok(())
    }
}

fn write_better(access: &RecordedAccess, read: &BetterRead, mut object: Object<'_>) {
    object.string("operation", read.operation);
    object.string("table", &access.table);
    if let Some(index) = &read.index {
        object.string("index", index);
    }
    object.strings("key", read.key.iter().map(Name::as_str));
    object.boolean("projectsAll", read.projects_all);
    object.boolean("canBeConsistent", read.consistent);
    object.string("sentence", &suggestion(access, read));
    object.close();
}

/// A number and its noun, in the plural unless it is one.
fn count(number: u64, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if number == 1 => format!("1 {what}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {what}s"),
    }
}

fn summary(request: &Request) -> Vec<String> {
    let mut sentences = Vec::new();
    let ranges = |access: &RecordedAccess| matches!(access.act, ItemAction::Query | ItemAction::Scan);
    let discarded = request.scanned.saturating_sub(request.returned);
    if request.accesses.iter().any(ranges) && request.error.is_none() {
        sentences.push(format!(
            "It read {} and returned {}.",
            count(request.scanned, "item"),
            request.returned
        ));
        let filtered = request.accesses.iter().any(|access| access.filter.is_some());
        if discarded > 0 && filtered {
            sentences.push(format!(
                "The filter discarded {} after they were read: a filter saves no read units, and these were paid for.",
                count(discarded, "item")
            ));
        }
    }
    if !request.read.is_zero() {
        sentences.push(format!("It cost {} read units.", request.read.as_f64()));
    }
    if !request.write.is_zero() {
        sentences.push(format!("It cost {} write units.", request.write.as_f64()));
    }
    if let Some(error) = request.error {
        let message = request.bodies.as_deref().and_then(|[_, answered]| {
            let named = |name| match Json::read(member_text(&answered.bytes, name)?.as_bytes()) {
                Ok(Json::Text(text)) => Some(text),
                _ => None,
            };
            named("message").or_else(|| named("Message"))
        });
        sentences.push(match message {
            Some(message) => format!("It failed with {}: {message}", exception(error)),
            None => format!("It failed with {}.", exception(error)),
        });
    }
    if request.more > 0 {
        sentences.push(format!("{} more are not remembered.", count(request.more, "entry")));
    }
    sentences
}

fn of_entry(request: &Request, access: &RecordedAccess) -> Vec<String> {
    let mut sentences = Vec::new();
    let place = match &access.index {
        Some(index) => format!("index {index} of table {}", access.table),
        None => format!("table {}", access.table),
    };
    match (access.act, access.error) {
        (ItemAction::Scan, None) => sentences.push(format!(
            "A Scan reads {place} item by item, whatever its filter: it read {} for {} read units{}.",
            count(access.scanned, "item"),
            access.read.as_f64(),
            across(access)
        )),
        (ItemAction::Query, None) => sentences.push(format!(
            "The Query read {} with this partition key from {place}, for {} read units{}.",
            count(access.scanned, "item"),
            access.read.as_f64(),
            across(access)
        )),
        (ItemAction::Get, None) if access.scanned == 0 => sentences.push(format!(
            "There is no item with this key in {place}; reading nothing costs {} read units.",
            access.read.as_f64()
        )),
        _ => {}
    }
    if let Some(filter) = access.filter.as_ref().filter(|_| access.error.is_none()) {
        let names: Vec<&str> = filter.attributes.iter().map(Name::as_str).collect();
        sentences.push(format!(
            "The filter tests {} after the items were read.",
            names.join(", ")
        ));
        let reads = request.accesses.iter().filter(|access| access.filter.is_some()).count();
        if reads == 1 && filter.better.is_empty() && request.returned < access.scanned {
            sentences.push(
                "No key of the table or of an index begins with an attribute that the filter compares with one value: a global index on one of them would let a Query read fewer items."
                    .to_owned(),
            );
        }
    }
    if let Some(age) = access.age {
        sentences.push(format!(
            "It was an eventually consistent read and returned a state that had been replaced {} seconds earlier.",
            age.as_secs_f64()
        ));
    }
    sentences.extend(refusal(access));
    sentences
}

/// The number of capacity partitions that a range touched.
fn across(access: &RecordedAccess) -> String {
    match access.partitions {
        Some((first, last)) if first != last => format!(", from {} partitions", last - first + 1),
        Some((partition, _)) => format!(", from partition {partition}"),
        None => String::new(),
    }
}

/// Why an entry was throttled.
fn refusal(access: &RecordedAccess) -> Vec<String> {
    let Some(error) = access.error else { return Vec::new() };
    let mut sentences: Vec<String> = match access.injected {
        Some(Injected::Rule(id)) => vec![format!("Fault rule {id} made it fail, not the data or the capacity.")],
        Some(Injected::Condition(name)) => {
            vec![format!(
                "The condition `{name}` made it fail, not the data or the capacity."
            )]
        }
        None => Vec::new(),
    };
    if access.injected.is_none() {
        sentences.extend(access.limits.iter().map(|(reason, resource)| limit(reason, resource)));
        match error {
            ErrorKind::ConditionalCheckFailed => sentences.push(format!(
                "Its condition does not hold for the stored item, or for its absence; that costs {} write units.",
                access.write.as_f64()
            )),
            ErrorKind::DuplicateItem => sentences.push("An item with this key already exists.".to_owned()),
            ErrorKind::TransactionConflict => {
                sentences.push("A transaction in flight holds the item until it is executed.".to_owned());
            }
            ErrorKind::ItemCollectionSizeLimitExceeded => {
                sentences.push(
                    "Its item collection, with the entries of local indexes, has reached its size limit.".to_owned(),
                );
            }
            _ => {}
        }
    }
    sentences
}

/// The meaning of an exceeded limit.
fn limit(reason: &str, resource: &str) -> String {
    let Some((exceeded, _, writes)) = Exceeded::of_reason(reason) else {
        return format!("{reason} of {resource}.");
    };
    let units = if writes { "write" } else { "read" };
    let resource = resource.rsplit(':').next().unwrap_or(resource);
    let meaning = match exceeded {
        Exceeded::ProvisionedThroughput => {
            format!(
                "The provisioned {units} units of {resource} are used up, with those saved in the last five minutes"
            )
        }
        Exceeded::KeyRangeThroughput => format!(
            "The partition of this key in {resource} serves no more {units} units per second: the key is hot, or on-demand capacity has not grown yet"
        ),
        Exceeded::AccountLimit => format!("The account's limit of {units} units for {resource} is reached"),
        Exceeded::MaxOnDemandThroughput => {
            format!("The configured maximum of on-demand {units} units of {resource} is reached")
        }
    };
    format!("{meaning} ({reason}).")
}

fn suggestion(access: &RecordedAccess, read: &BetterRead) -> String {
    let keys: Vec<&str> = read.key.iter().map(Name::as_str).collect();
    let keys = keys.join(" and ");
    let Some(index) = &read.index else {
        return match read.operation {
            "GetItem" => format!("A GetItem with {keys} reads this one item of table {}.", access.table),
            _ => format!(
                "A Query of table {} with {keys} in its key condition reads only items with these key values.",
                access.table
            ),
        };
    };
    let mut sentence =
        format!("A Query of index {index} with {keys} in its key condition reads only items with these key values.");
    if !read.projects_all {
        sentence.push_str(" The index does not project all attributes.");
    }
    if !read.consistent {
        sentence.push_str(" It is eventually consistent.");
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_have_their_number() {
        for (number, what, expect) in [
            (0, "item", "0 items"),
            (1, "item", "1 item"),
            (2, "item", "2 items"),
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
        ] {
            assert_eq!(count(number, what), expect);
        }
    }

    #[test]
    fn partitions_are_counted_with_the_first_and_the_last() {
        let mut access = RecordedAccess::new(ItemAction::Scan, Name::new("tab"));
        for (partitions, expect) in [
            (None, ""),
            (Some((2, 2)), ", from partition 2"),
            (Some((2, 3)), ", from 2 partitions"),
            (Some((0, 4)), ", from 5 partitions"),
        ] {
            access.partitions = partitions;
            assert_eq!(across(&access), expect);
        }
    }

    #[test]
    fn suggestions_name_what_the_better_read_restricts() {
        let access = RecordedAccess::new(ItemAction::Scan, Name::new("tab"));
        let of_index =
            "A Query of index by-g with pk and sk in its key condition reads only items with these key values.";
        for (operation, index, projects_all, consistent, expect) in [
            (
                "GetItem",
                None,
                true,
                true,
                "A GetItem with pk and sk reads this one item of table tab.".to_owned(),
            ),
            (
                "Query",
                None,
                true,
                true,
                "A Query of table tab with pk and sk in its key condition reads only items with these key values."
                    .to_owned(),
            ),
            ("Query", Some("by-g"), true, true, of_index.to_owned()),
            (
                "Query",
                Some("by-g"),
                false,
                true,
                format!("{of_index} The index does not project all attributes."),
            ),
            (
                "Query",
                Some("by-g"),
                true,
                false,
                format!("{of_index} It is eventually consistent."),
            ),
        ] {
            let read = BetterRead {
                operation,
                index: index.map(Name::new),
                key: vec![Name::new("pk"), Name::new("sk")],
                projects_all,
                consistent,
            };
            assert_eq!(suggestion(&access, &read), expect);
        }
    }
}
