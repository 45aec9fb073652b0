//! Requests as the service's older framework prints them in its errors (docs/behavior: 01 5.4). Members that no request
//! has are internal to the service.

use std::fmt::{self, Write};

use crate::request::{BatchStatement, Substitutions, TransactGet, TransactGetItem, TransactWriteItem, WriteRequest};
use crate::value::{AttributeValue, Map, Name, Text};

/// The maximum length of a dump: the service's error is as long as the request, the emulator's is cut.
const MOST_BYTES: usize = 256 * 1024;

pub fn request_items(tables: &[(Text, Vec<WriteRequest>)]) -> String {
    let mut dump = Dump(String::new());
    // Writing fails where the dump is cut.
    let _ = dump.map(
        tables.iter().map(|(name, writes)| (name.as_str(), writes)),
        |dump, writes| dump.list(writes, Dump::write_request),
    );
    dump.0
}

pub fn transact_writes(actions: &[TransactWriteItem]) -> String {
    let mut dump = Dump(String::new());
    let _ = dump.list(actions, Dump::transact_write);
    dump.0
}

pub fn transact_gets(actions: &[TransactGetItem]) -> String {
    let mut dump = Dump(String::new());
    let _ = dump.list(actions, |dump, action| {
        dump.structure(
            "TransactGetItem",
            &[("get", &|dump| dump.optional(action.get.as_ref(), Dump::get))],
        )
    });
    dump.0
}

pub fn names(names: &[Name]) -> String {
    let mut dump = Dump(String::new());
    let _ = dump.list(names, |dump, name| dump.write_str(name));
    dump.0
}

/// `Statements` of BatchExecuteStatement, or `TransactStatements`.
pub fn statements(statements: &[BatchStatement], of_batch: bool) -> String {
    let mut dump = Dump(String::new());
    let _ = dump.list(statements, |dump, sent| dump.statement(sent, of_batch));
    dump.0
}

struct Dump(String);

/// Prints one member of a structure.
type MemberPrinter<'p> = &'p dyn Fn(&mut Dump) -> fmt::Result;

/// The members that all actions of TransactWriteItems have after their item or key.
struct CommonMembers<'r> {
    table: Option<&'r Text>,
    condition: Option<&'r Text>,
    substitutions: &'r Substitutions,
    on_failure: Option<&'r Text>,
}

impl Write for Dump {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > MOST_BYTES {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

impl Dump {
    fn map<'v, V>(
        &mut self,
        entries: impl Iterator<Item = (&'v str, V)>,
        mut value: impl FnMut(&mut Dump, V) -> fmt::Result,
    ) -> fmt::Result {
        self.write_str("{")?;
        for (at, (name, entry)) in entries.enumerate() {
            write!(self, "{}{name}=", if at > 0 { ", " } else { "" })?;
            value(self, entry)?;
        }
        self.write_str("}")
    }

    fn list<V>(
        &mut self,
        elements: impl IntoIterator<Item = V>,
        mut value: impl FnMut(&mut Dump, V) -> fmt::Result,
    ) -> fmt::Result {
        self.write_str("[")?;
        for (at, element) in elements.into_iter().enumerate() {
            self.write_str(if at > 0 { ", " } else { "" })?;
            value(self, element)?;
        }
        self.write_str("]")
    }

    fn write_request(&mut self, write: &WriteRequest) -> fmt::Result {
        self.write_str("WriteRequest(putRequest=")?;
        match &write.put_request {
            Some(put) => {
                self.write_str("PutRequest(item=")?;
                self.attributes(put.item.as_ref().map(|sent| &sent.attributes))?;
                self.write_str(", workloadProfileName=null)")?;
            }
            None => self.write_str("null")?,
        }
        self.write_str(", deleteRequest=")?;
        match &write.delete_request {
            Some(delete) => {
                self.write_str("DeleteRequest(key=")?;
                self.attributes(delete.key.as_ref())?;
                self.write_str(")")?;
            }
            None => self.write_str("null")?,
        }
        self.write_str(")")
    }

    /// Writes the form `Class(member=…, member=…)`.
    fn structure(&mut self, class: &str, members: &[(&str, MemberPrinter<'_>)]) -> fmt::Result {
        self.write_str(class)?;
        for (at, (name, print)) in members.iter().enumerate() {
            write!(self, "{}{name}=", if at > 0 { ", " } else { "(" })?;
            print(self)?;
        }
        self.write_str(")")
    }

    fn optional<V>(&mut self, value: Option<V>, print: impl FnOnce(&mut Dump, V) -> fmt::Result) -> fmt::Result {
        match value {
            Some(value) => print(self, value),
            None => self.write_str("null"),
        }
    }

    fn text(&mut self, text: Option<&Text>) -> fmt::Result {
        self.write_str(text.map_or("null", Text::as_str))
    }

    fn names(&mut self, substitutions: &Substitutions) -> fmt::Result {
        self.optional(substitutions.names.as_ref(), |dump, names| {
            let entries = names.iter().map(|(alias, name)| (alias.as_str(), name));
            dump.map(entries, |dump, name| dump.write_str(name))
        })
    }

    fn values(&mut self, substitutions: &Substitutions) -> fmt::Result {
        self.optional(substitutions.values.as_ref(), |dump, values| {
            let entries = values.iter().map(|(placeholder, value)| (placeholder.as_str(), value));
            dump.map(entries, Dump::value)
        })
    }

    fn transact_write(&mut self, action: &TransactWriteItem) -> fmt::Result {
        self.structure(
            "TransactWriteItem",
            &[
                ("conditionCheck", &|dump| {
                    dump.optional(action.condition_check.as_ref(), |dump, check| {
                        let common = CommonMembers {
                            table: check.table_name.as_ref(),
                            condition: check.condition_expression.as_ref(),
                            substitutions: &check.substitutions,
                            on_failure: check.return_values_on_condition_check_failure.as_ref(),
                        };
                        dump.action(
                            "ConditionCheck",
                            &[("key", &|dump| dump.attributes(check.key.as_ref()))],
                            &common,
                        )
                    })
                }),
                ("put", &|dump| {
                    dump.optional(action.put.as_ref(), |dump, put| {
                        let common = CommonMembers {
                            table: put.table_name.as_ref(),
                            condition: put.condition_expression.as_ref(),
                            substitutions: &put.substitutions,
                            on_failure: put.return_values_on_condition_check_failure.as_ref(),
                        };
                        dump.action(
                            "Put",
                            &[("item", &|dump| {
                                dump.attributes(put.item.as_ref().map(|sent| &sent.attributes))
                            })],
                            &common,
                        )
                    })
                }),
                ("delete", &|dump| {
                    dump.optional(action.delete.as_ref(), |dump, delete| {
                        let common = CommonMembers {
                            table: delete.table_name.as_ref(),
                            condition: delete.condition_expression.as_ref(),
                            substitutions: &delete.substitutions,
                            on_failure: delete.return_values_on_condition_check_failure.as_ref(),
                        };
                        dump.action(
                            "Delete",
                            &[("key", &|dump| dump.attributes(delete.key.as_ref()))],
                            &common,
                        )
                    })
                }),
                ("update", &|dump| {
                    dump.optional(action.update.as_ref(), |dump, update| {
                        let common = CommonMembers {
                            table: update.table_name.as_ref(),
                            condition: update.condition_expression.as_ref(),
                            substitutions: &update.substitutions,
                            on_failure: update.return_values_on_condition_check_failure.as_ref(),
                        };
                        let own: [(&str, MemberPrinter<'_>); 2] = [
                            ("key", &|dump| dump.attributes(update.key.as_ref())),
                            ("updateExpression", &|dump| dump.text(update.update_expression.as_ref())),
                        ];
                        dump.action("Update", &own, &common)
                    })
                }),
            ],
        )
    }

    /// An action of TransactWriteItems: its own members, then the common ones.
    fn action(&mut self, class: &str, own: &[(&str, MemberPrinter<'_>)], common: &CommonMembers<'_>) -> fmt::Result {
        let mut members = own.to_vec();
        let table = |dump: &mut Dump| dump.text(common.table);
        let condition = |dump: &mut Dump| dump.text(common.condition);
        let names = |dump: &mut Dump| dump.names(common.substitutions);
        let values = |dump: &mut Dump| dump.values(common.substitutions);
        let on_failure = |dump: &mut Dump| dump.text(common.on_failure);
        members.push(("tableName", &table));
        members.push(("conditionExpression", &condition));
        members.push(("expressionAttributeNames", &names));
        members.push(("expressionAttributeValues", &values));
        members.push(("returnValuesOnConditionCheckFailure", &on_failure));
        self.structure(class, &members)
    }

    fn get(&mut self, get: &TransactGet) -> fmt::Result {
        self.structure(
            "Get",
            &[
                ("key", &|dump| dump.attributes(get.key.as_ref())),
                ("tableName", &|dump| dump.text(get.table_name.as_ref())),
                ("projectionExpression", &|dump| {
                    dump.text(get.projection_expression.as_ref())
                }),
                ("expressionAttributeNames", &|dump| dump.names(&get.substitutions)),
            ],
        )
    }

    fn statement(&mut self, sent: &BatchStatement, of_batch: bool) -> fmt::Result {
        let class = if of_batch {
            "BatchStatementRequest"
        } else {
            "ParameterizedStatement"
        };
        write!(self, "{class}(statement=")?;
        self.write_str(sent.statement.as_deref().unwrap_or("null"))?;
        self.write_str(", parameters=")?;
        match &sent.parameters {
            Some(parameters) => self.list(parameters, Dump::value)?,
            None => self.write_str("null")?,
        }
        if of_batch {
            self.write_str(", consistentRead=")?;
            match sent.consistent_read {
                Some(flag) => write!(self, "{flag}")?,
                None => self.write_str("null")?,
            }
        }
        self.write_str(", returnValuesOnConditionCheckFailure=")?;
        let on_failure = sent.return_values_on_condition_check_failure.as_deref();
        self.write_str(on_failure.unwrap_or("null"))?;
        self.write_str(")")
    }

    fn attributes(&mut self, map: Option<&Map>) -> fmt::Result {
        match map {
            None => self.write_str("null"),
            Some(map) => self.map(map.iter().map(|(name, value)| (name.as_str(), value)), Dump::value),
        }
    }

    /// Prints a value, with a member for every type it could have.
    fn value(&mut self, value: &AttributeValue) -> fmt::Result {
        use AttributeValue as V;
        for (at, slot) in SLOTS.iter().enumerate() {
            write!(self, "{}{slot}=", if at > 0 { ", " } else { "AttributeValue(" })?;
            match (*slot, value) {
                ("s", V::S(text)) => self.write_str(text)?,
                ("n", V::N(number)) => write!(self, "{number}")?,
                ("b", V::B(bytes)) => self.bytes(bytes)?,
                ("sS", V::Ss(set)) => self.list(set.iter(), |dump, text| dump.write_str(text))?,
                ("nS", V::Ns(set)) => self.list(set.iter(), |dump, number| write!(dump, "{number}"))?,
                ("bS", V::Bs(set)) => self.list(set.iter(), |dump, bytes| dump.bytes(bytes))?,
                ("m", V::M(map)) => self.attributes(Some(map))?,
                ("l", V::L(list)) => self.list(list.iter(), Dump::value)?,
                ("nULL", V::Null) => self.write_str("true")?,
                ("bOOL", V::Bool(flag)) => write!(self, "{flag}")?,
                _ => self.write_str("null")?,
            }
        }
        self.write_str(")")
    }

    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        write!(self, "java.nio.HeapByteBuffer[pos=0 lim={0} cap={0}]", bytes.len())
    }
}

const SLOTS: [&str; 16] = [
    "s",
    "n",
    "b",
    "iNT",
    "dECIMAL",
    "dOUBLE",
    "sS",
    "nS",
    "bS",
    "iNTSET",
    "dECIMALSET",
    "dOUBLESET",
    "m",
    "l",
    "nULL",
    "bOOL",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;
    use crate::request::{BatchExecuteStatement, BatchWriteItem, TransactGetItems, TransactWriteItems};
    use crate::wire::decode::Decode;

    #[test]
    fn a_value_is_printed_in_the_member_of_its_type() {
        let text = AttributeValue::string;
        let number = |text: &str| Number::parse(text.as_bytes()).unwrap();
        let bytes = |bytes: &[u8]| Box::<[u8]>::from(bytes);
        let buffer = |length: usize| format!("java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]");
        let only = |slot: &str, printed: &str| {
            let members = SLOTS.map(|name| format!("{name}={}", if name == slot { printed } else { "null" }));
            format!("AttributeValue({})", members.join(", "))
        };
        let nested = format!("[{}, {}]", only("s", "x"), only("nULL", "true"));
        for (value, slot, printed) in [
            (text("x"), "s", "x".to_owned()),
            (AttributeValue::N(number("1.50")), "n", "1.5".to_owned()),
            (AttributeValue::B(bytes(b"abc")), "b", buffer(3)),
            (
                AttributeValue::string_set(vec!["y".into(), "x".into()]).unwrap(),
                "sS",
                "[x, y]".to_owned(),
            ),
            (
                AttributeValue::number_set(vec![number("2"), number("-1")]).unwrap(),
                "nS",
                "[-1, 2]".to_owned(),
            ),
            (
                AttributeValue::binary_set(vec![bytes(b"a"), bytes(b"bcd")]).unwrap(),
                "bS",
                format!("[{}, {}]", buffer(1), buffer(3)),
            ),
            (
                AttributeValue::M(Map::from_entries(vec![("k".into(), text("x"))])),
                "m",
                format!("{{k={}}}", only("s", "x")),
            ),
            (AttributeValue::M(Map::new()), "m", "{}".to_owned()),
            (AttributeValue::L(vec![text("x"), AttributeValue::Null]), "l", nested),
            (AttributeValue::Null, "nULL", "true".to_owned()),
            (AttributeValue::Bool(false), "bOOL", "false".to_owned()),
            (AttributeValue::Bool(true), "bOOL", "true".to_owned()),
        ] {
            let mut dump = Dump(String::new());
            dump.value(&value).unwrap();
            assert_eq!(dump.0, only(slot, &printed));
        }
    }

    /// Returns how a string is printed.
    fn string(text: &str) -> String {
        let mut dump = Dump(String::new());
        dump.value(&AttributeValue::string(text)).unwrap();
        dump.0
    }

    #[test]
    fn a_dump_has_a_maximum_length() {
        let name = "n".repeat(1021);
        let printed = |count: usize| names(&vec![Name::new(&name); count]);
        // Each name takes 1,023 bytes, including the comma before it.
        let whole = printed(256);
        assert_eq!((whole.len(), whole.ends_with("n]")), (256 * 1023, true));
        for count in [257, 300, 3000] {
            let cut = printed(count);
            assert!((MOST_BYTES..=MOST_BYTES + 1023).contains(&cut.len()), "{}", cut.len());
        }
    }

    #[test]
    fn actions_are_printed_with_all_members() {
        let rest = r##""TableName":"tab","ConditionExpression":"c","ExpressionAttributeNames":{"#n":"n","#m":"m"},"ExpressionAttributeValues":{":v":{"S":"x"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD""##;
        let body = format!(
            r#"{{"TransactItems":[{{"ConditionCheck":{{"Key":{{"pk":{{"S":"a"}}}},{rest}}}}},{{"Put":{{"Item":{{"pk":{{"S":"a"}}}},{rest}}}}},{{"Delete":{{"Key":{{"pk":{{"S":"a"}}}},{rest}}}}},{{"Update":{{"Key":{{"pk":{{"S":"a"}}}},"UpdateExpression":"u",{rest}}}}},{{"Put":{{}}}}]}}"#
        );
        let request = TransactWriteItems::decode(body.as_bytes()).unwrap();
        let key = format!("{{pk={}}}", string("a"));
        let rest = format!(
            "tableName=tab, conditionExpression=c, expressionAttributeNames={{#n=n, #m=m}}, expressionAttributeValues={{:v={}}}, returnValuesOnConditionCheckFailure=ALL_OLD",
            string("x")
        );
        let nothing = "tableName=null, conditionExpression=null, expressionAttributeNames=null, expressionAttributeValues=null, returnValuesOnConditionCheckFailure=null";
        let expected = [
            format!("conditionCheck=ConditionCheck(key={key}, {rest}), put=null, delete=null, update=null"),
            format!("conditionCheck=null, put=Put(item={key}, {rest}), delete=null, update=null"),
            format!("conditionCheck=null, put=null, delete=Delete(key={key}, {rest}), update=null"),
            format!("conditionCheck=null, put=null, delete=null, update=Update(key={key}, updateExpression=u, {rest})"),
            format!("conditionCheck=null, put=Put(item=null, {nothing}), delete=null, update=null"),
        ]
        .map(|action| format!("TransactWriteItem({action})"));
        let actions = request.transact_items.unwrap();
        assert_eq!(transact_writes(&actions), format!("[{}]", expected.join(", ")));

        let body = br##"{"TransactItems":[{"Get":{"Key":{"pk":{"S":"a"}},"TableName":"tab","ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}}},{}]}"##;
        let actions = TransactGetItems::decode(body).unwrap().transact_items.unwrap();
        assert_eq!(
            transact_gets(&actions),
            format!(
                "[TransactGetItem(get=Get(key={key}, tableName=tab, projectionExpression=#n, expressionAttributeNames={{#n=n}})), TransactGetItem(get=null)]"
            )
        );
    }

    #[test]
    fn statements_are_printed_with_all_members() {
        let one = r#"{"Statement":"s","Parameters":[{"S":"a"},{"S":"b"}],"ConsistentRead":true,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"#;
        let body = format!(r#"{{"Statements":[{one},{{"ConsistentRead":false}}]}}"#);
        let sent = BatchExecuteStatement::decode(body.as_bytes())
            .unwrap()
            .statements
            .unwrap();
        let parameters = format!("[{}, {}]", string("a"), string("b"));
        assert_eq!(
            statements(&sent, true),
            format!(
                "[BatchStatementRequest(statement=s, parameters={parameters}, consistentRead=true, returnValuesOnConditionCheckFailure=ALL_OLD), BatchStatementRequest(statement=null, parameters=null, consistentRead=false, returnValuesOnConditionCheckFailure=null)]"
            )
        );
        assert_eq!(
            statements(&sent[..1], false),
            format!(
                "[ParameterizedStatement(statement=s, parameters={parameters}, returnValuesOnConditionCheckFailure=ALL_OLD)]"
            )
        );
    }

    #[test]
    fn batches_are_printed_with_both_kinds_of_writes() {
        let key = format!("{{pk={}}}", string("a"));
        let body = br#"{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}},{}],"two":[]}}"#;
        let request = BatchWriteItem::decode(body).unwrap();
        assert_eq!(
            request_items(&request.request_items.unwrap()),
            format!(
                "{{tab=[WriteRequest(putRequest=PutRequest(item={key}, workloadProfileName=null), deleteRequest=null), WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={key})), WriteRequest(putRequest=null, deleteRequest=null)], two=[]}}"
            )
        );
        assert_eq!(names(&["a".into(), "b".into()]), "[a, b]");
    }
}
