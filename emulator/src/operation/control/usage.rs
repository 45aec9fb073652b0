//! Least-privilege policies of recorded requests.

use super::ControlRequest;
use crate::access::{ReportedKeys, Usage, UsedPermission, UsedStatement};
use crate::error::ErrorKind;
use crate::journal::{ItemAction, RecordedAccess, Request};
use crate::plan::key_text;
use crate::sorted::SortedMap;
use crate::storage::Table;
use crate::value::{Name, Text};
use crate::wire::control::ControlResult;
use crate::wire::encode::Writer;
use crate::wire::object::{List, Object};

impl ControlRequest<'_> {
    /// For each principal with recorded requests, writes a policy that allows exactly those.
    pub fn report_access(&self, writer: &mut Writer) -> ControlResult<()> {
        let principal = self.query.text("principal");
        let keys = ReportedKeys {
            leading_keys: self.query.flag("leadingKeys")?,
            attributes: self.query.flag("attributes")?,
        };
        let journal = self.twin.state.journal();
        let requests = journal.requests();
        let mut principals: SortedMap<&str, Usage> = SortedMap::new();
        for request in &requests {
            let name = request.principal.as_deref().unwrap_or(&request.caller.access_key);
            if principal.is_none_or(|principal| principal == name) {
                add(self, principals.get_or_default(&name), request);
            }
        }
        let mut object = Object::open(writer);
        object.boolean("watched", journal.is_watched());
        object.integer("seen", journal.seen() as i64);
        object.integer("remembered", requests.len() as i64);
        let mut list = object.list("principals");
        for (name, usage) in principals {
            let statements = usage.statements(keys);
            if !statements.is_empty() {
                let mut object = list.object();
                object.string("principal", name);
                write_policy(&statements, object.object("policy"));
                object.close();
            }
        }
        list.close();
        object.close();
        Ok(())
    }
}

/// Adds the permissions that a request used; a rejected request used none.
fn add(requested: &ControlRequest<'_>, usage: &mut Usage, request: &Request) {
    if request.error == Some(ErrorKind::AccessDenied) {
        return;
    }
    for permission in &request.permissions {
        let leading_keys = permission.leading_keys.as_ref();
        let attributes = permission.attributes.as_ref();
        usage.add(&UsedPermission {
            action: permission.action,
            resource: &permission.resource,
            leading_keys: leading_keys.map(|keys| keys.iter().map(Text::as_str).collect()),
            attributes: attributes.map(|names| names.iter().map(Name::as_str).collect()),
            select: permission.select,
            return_values: permission.return_values,
        });
    }
    if request.permissions.is_empty() {
        let accesses = request
            .accesses
            .iter()
            .filter(|access| access.act != ItemAction::GetRecords);
        accesses.for_each(|access| add_access(requested, usage, request, access));
    }
}

/// Adds the permission that an entry of a request has used.
fn add_access(requested: &ControlRequest<'_>, usage: &mut Usage, request: &Request, access: &RecordedAccess) {
    let caller = &request.caller;
    let table = requested
        .twin
        .state
        .catalog()
        .table(&requested.twin.scope(caller), &access.table);
    let mut resource = match &table {
        Some(table) => table.arn.clone(),
        None => format!(
            "arn:aws:dynamodb:{}:{}:table/{}",
            caller.region,
            caller.account(),
            access.table
        ),
    };
    if let Some(index) = &access.index {
        resource = format!("{resource}/index/{index}");
    }
    let keys = leading_keys(table.as_deref(), access);
    // Touches beyond the limit of the log are unknown.
    let keys = keys.filter(|_| request.more == 0);
    usage.add(&UsedPermission {
        leading_keys: keys.as_ref().map(|keys| keys.iter().map(Text::as_str).collect()),
        ..UsedPermission::new(action(&request.operation, access.act), &resource)
    });
}

/// The IAM action of an entry of an operation.
fn action(operation: &str, act: ItemAction) -> &str {
    match (operation, act) {
        ("ExecuteStatement" | "BatchExecuteStatement" | "ExecuteTransaction", act) => match act {
            ItemAction::Put => "PartiQLInsert",
            ItemAction::Update => "PartiQLUpdate",
            ItemAction::Delete => "PartiQLDelete",
            _ => "PartiQLSelect",
        },
        ("TransactGetItems", _) => "GetItem",
        ("TransactWriteItems", ItemAction::Put) => "PutItem",
        ("TransactWriteItems", ItemAction::Update) => "UpdateItem",
        ("TransactWriteItems", ItemAction::Delete) => "DeleteItem",
        ("TransactWriteItems", _) => "ConditionCheckItem",
        (operation, _) => operation,
    }
}

/// The values of `dynamodb:LeadingKeys`; `None` if the entry has no partition keys, or they are no longer known.
fn leading_keys(table: Option<&Table>, access: &RecordedAccess) -> Option<Vec<Text>> {
    if matches!(access.act, ItemAction::Scan | ItemAction::SearchVectors) {
        return None;
    }
    let shape = table?.shape();
    let schema = match access.index.as_deref().and_then(|index| shape.definition.index(index)) {
        Some((_, index)) => &index.key,
        None => &shape.definition.key,
    };
    let hash = schema.attributes().next()?;
    Some(vec![key_text(access.key.get(&hash.name)?)?])
}

fn write_policy(statements: &[UsedStatement], mut policy: Object<'_>) {
    policy.string("Version", "2012-10-17");
    let mut list = policy.list("Statement");
    statements
        .iter()
        .for_each(|statement| write_statement(statement, &mut list));
    list.close();
    policy.close();
}

fn write_statement(statement: &UsedStatement, list: &mut List<'_>) {
    let mut object = list.object();
    object.string("Effect", "Allow");
    object.strings("Action", statement.actions.iter().map(String::as_str));
    object.strings("Resource", statement.resources.iter().map(String::as_str));
    let (leading_keys, attributes) = (&statement.leading_keys, &statement.attributes);
    let (select, return_values) = (&statement.select, &statement.return_values);
    let has_sets = leading_keys.is_some() || attributes.is_some();
    let has_texts = select.is_some() || return_values.is_some();
    if has_sets || has_texts {
        let mut condition = object.object("Condition");
        if has_sets {
            let mut all = condition.object("ForAllValues:StringEquals");
            write_values(&mut all, "dynamodb:LeadingKeys", leading_keys.as_deref());
            write_values(&mut all, "dynamodb:Attributes", attributes.as_deref());
            all.close();
        }
        // ForAllValues also holds where the key is absent. A request without attributes does not have this Select.
        if leading_keys.is_some() {
            let mut null = condition.object("Null");
            null.string("dynamodb:LeadingKeys", "false");
            null.close();
        }
        if has_texts {
            let mut equal = condition.object("StringEquals");
            write_values(&mut equal, "dynamodb:Select", select.as_deref());
            write_values(&mut equal, "dynamodb:ReturnValues", return_values.as_deref());
            equal.close();
        }
        condition.close();
    }
    object.close();
}

fn write_values(object: &mut Object<'_>, key: &str, values: Option<&[String]>) {
    if let Some(values) = values {
        object.strings(key, values.iter().map(String::as_str));
    }
}
