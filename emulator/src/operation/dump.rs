//! Requests as the service's older framework prints them in its errors (docs/behavior: 01 5.4). The members that no
//! request has are the service's own.

use std::fmt::{self, Write};

use crate::request::{BatchStatement, WriteRequest};
use crate::value::{AttributeValue, Map, Text};

/// How long a dump may become: the service's error is as long as the request, ours need not be.
const MOST_BYTES: usize = 64 * 1024;

/// `RequestItems` of BatchWriteItem.
pub fn request_items(tables: &[(Text, Vec<WriteRequest>)]) -> String {
    let mut dump = Dump(String::new());
    // Writing fails where the dump is cut.
    let _ = dump.map(
        tables.iter().map(|(name, writes)| (name.as_str(), writes)),
        |dump, writes| dump.list(writes, Dump::write_request),
    );
    dump.0
}

/// `Statements` of BatchExecuteStatement, or `TransactStatements`.
pub fn statements(statements: &[BatchStatement], of_batch: bool) -> String {
    let mut dump = Dump(String::new());
    let _ = dump.list(statements, |dump, sent| dump.statement(sent, of_batch));
    dump.0
}

struct Dump(String);

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
                self.attributes(put.item.as_ref())?;
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

    /// A value prints every type it could have.
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
