//! DynamoDB Local's database files: `shared-local-instance.db`, and `KEY_region.db` without `-sharedDb`.
//!
//! Each is a SQLite database (seen in files of versions 1.25 and 2.x). The table `dm` has a row for each DynamoDB table:
//! `TableName`, `BillingMode` (1 is on-demand), the throughput, and `TableInfo`, a JSON document with definitions, keys, indexes
//! and the attribute of time to live. `sm` has the streams. Each DynamoDB table has a SQL table of its name, whose column
//! `ObjectJSON` is the item in DynamoDB's form. Tags are not in the file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value as Json, json};

use crate::document::{self, Node, Value};
use crate::error::Error;
use crate::seed::{Attributes, Items, Seed, SeedItem, Table};

/// The first bytes of a SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Items that are read ahead of their use.
const AHEAD: usize = 100;

/// Whether a file begins as a SQLite database does.
pub(crate) fn is_database(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// The files of DynamoDB Local in a directory.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let none = dynatwin_seed::dynamodb_local_files(std::env::temp_dir().join("empty").as_path());
/// assert!(none.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn dynamodb_local_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "db"))
        .filter(|path| read_begin(path).is_some_and(|begin| is_database(&begin)))
        .collect();
    files.sort();
    files
}

fn read_begin(path: &Path) -> Option<[u8; 16]> {
    use std::io::Read;
    let mut begin = [0; 16];
    std::fs::File::open(path).ok()?.read_exact(&mut begin).ok()?;
    Some(begin)
}

/// The tables and items of a file.
pub(crate) fn read(path: &Path) -> Result<Seed, Error> {
    let file = path.display().to_string();
    let database = open(path)?;
    let of_sql = |error: rusqlite::Error| Error::new(&file, error.to_string());
    let mut rows = database
        .prepare(
            "SELECT TableName, TableInfo, BillingMode, ReadCapacityUnits, WriteCapacityUnits, \
             (SELECT StreamInfo FROM sm WHERE sm.TableName = dm.TableName AND sm.StreamStatus = 'ENABLED' LIMIT 1), \
             COALESCE(DeletionProtectionEnabled, '') FROM dm ORDER BY TableName",
        )
        .map_err(|error| Error::new(&file, format!("not a database of DynamoDB Local: {error}")))?;
    let rows = rows
        .query_map([], |row| {
            Ok(Row {
                name: row.get(0)?,
                info: row.get(1)?,
                on_demand: row.get::<_, Option<i64>>(2)? == Some(1),
                read_units: row.get::<_, Option<i64>>(3)?.unwrap_or(1),
                write_units: row.get::<_, Option<i64>>(4)?.unwrap_or(1),
                stream: row.get(5)?,
                protected: row.get_ref(6)?.as_str().is_ok_and(|text| text == "true"),
            })
        })
        .map_err(of_sql)?;
    let mut seed = Seed::default();
    for row in rows {
        let row = row.map_err(of_sql)?;
        let problem = |message: String| Error::new(&file, format!("table {}: {message}", row.name));
        let info = std::str::from_utf8(&row.info).map_err(|error| problem(error.to_string()))?;
        let info = document::json(info).map_err(|error| problem(error.message))?;
        let table = row.table(&file, &info).map_err(problem)?;
        seed.items.push(items(path, &file, &table.name));
        seed.tables.push(table);
    }
    Ok(seed)
}

fn open(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| Error::of_path(path, error))
}

struct Row {
    name: String,
    info: Vec<u8>,
    on_demand: bool,
    read_units: i64,
    write_units: i64,
    stream: Option<Vec<u8>>,
    protected: bool,
}

impl Row {
    fn table(&self, file: &str, info: &Node) -> Result<Table, String> {
        let text = |problem: crate::error::Problem| problem.message;
        let mut members = Map::new();
        members.insert("TableName".into(), self.name.as_str().into());
        let mut time_to_live = None;
        for (name, node) in info.object("TableInfo").map_err(text)? {
            let json = crate::schema::json(node).map_err(text)?;
            match name.as_str() {
                "Attributes" => drop(members.insert("AttributeDefinitions".into(), json)),
                "LSIList" => drop(members.insert("LocalSecondaryIndexes".into(), json)),
                "GSIList" => drop(members.insert("GlobalSecondaryIndexes".into(), json)),
                "SQLiteIndex" => drop(members.insert("KeySchema".into(), keys(&json[""])?)),
                "TimeToLiveAttributeName" => time_to_live = json.as_str().map(str::to_owned),
                // The other members repeat this information in SQL's terms or as a description.
                _ => {}
            }
        }
        for indexes in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
            if members
                .get(indexes)
                .is_some_and(|list| list.as_array().is_none_or(Vec::is_empty))
            {
                members.remove(indexes);
            }
        }
        if self.on_demand {
            members.insert("BillingMode".into(), json!("PAY_PER_REQUEST"));
            let indexes = members.get_mut("GlobalSecondaryIndexes").and_then(Json::as_array_mut);
            for index in indexes.into_iter().flatten().filter_map(Json::as_object_mut) {
                index.remove("ProvisionedThroughput");
            }
        } else {
            let throughput = json!({"ReadCapacityUnits": self.read_units, "WriteCapacityUnits": self.write_units});
            members.insert("BillingMode".into(), json!("PROVISIONED"));
            members.insert("ProvisionedThroughput".into(), throughput);
        }
        if self.protected {
            members.insert("DeletionProtectionEnabled".into(), json!(true));
        }
        let stream = self
            .stream
            .as_deref()
            .and_then(|info| serde_json::from_slice::<Json>(info).ok());
        if let Some(view) = stream.as_ref().and_then(|info| info["streamViewType"].as_str()) {
            let stream = json!({"StreamEnabled": true, "StreamViewType": view});
            members.insert("StreamSpecification".into(), stream);
        }
        let whole = Node::new(0, Value::Null);
        let mut table = Table::new(file, &whole, members).map_err(text)?;
        table.time_to_live = time_to_live;
        Ok(table)
    }
}

/// The key schema, of the columns that SQL finds the table's key by.
fn keys(columns: &Json) -> Result<Json, String> {
    let columns = columns.as_array().ok_or("TableInfo has no key")?.iter();
    let keys = columns.map(|column| {
        let name = &column["DynamoDBAttribute"]["AttributeName"];
        json!({"AttributeName": name, "KeyType": column["KeyType"]})
    });
    Ok(Json::Array(keys.collect()))
}

/// The items of a table, which a thread of their own reads.
fn items(path: &Path, file: &str, table: &str) -> Items {
    let (path, file, name) = (path.to_owned(), file.to_owned(), table.to_owned());
    Items {
        table: table.to_owned(),
        items: Box::new(LazyRows {
            start: Some(Box::new(move || rows(path, file, name))),
            rows: None,
        }),
    }
}

type ReadItem = Result<SeedItem, Error>;

/// Items whose reader thread starts with the first call of `next`.
struct LazyRows {
    start: Option<Box<dyn FnOnce() -> Receiver<ReadItem> + Send>>,
    rows: Option<Receiver<ReadItem>>,
}

impl Iterator for LazyRows {
    type Item = ReadItem;

    fn next(&mut self) -> Option<ReadItem> {
        if let Some(start) = self.start.take() {
            self.rows = Some(start());
        }
        self.rows.as_ref()?.recv().ok()
    }
}

fn rows(path: PathBuf, file: String, table: String) -> Receiver<ReadItem> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        let of_sql = |error: rusqlite::Error| Error::new(&file, format!("table {table}: {error}"));
        let read = || -> Result<(), Error> {
            let database = open(&path)?;
            // A table's name has letters, digits, `_`, `-` and `.` alone.
            let quoted = table.replace('"', "\"\"");
            let query = format!("SELECT ObjectJSON FROM \"{quoted}\"");
            let mut statement = database.prepare(&query).map_err(of_sql)?;
            let mut rows = statement.query([]).map_err(of_sql)?;
            while let Some(row) = rows.next().map_err(of_sql)? {
                let bytes = row.get_ref(0).map_err(of_sql)?;
                let bytes = bytes.as_bytes().map_err(|error| of_sql(error.into()))?;
                let item: Json = serde_json::from_slice(bytes)
                    .map_err(|error| Error::new(&file, format!("table {table}: an item is not JSON: {error}")))?;
                let Json::Object(attributes) = item else {
                    return Err(Error::new(&file, format!("table {table}: an item is not an object")));
                };
                let item = SeedItem {
                    file: file.clone(),
                    line: 0,
                    attributes: Attributes::Typed(attributes),
                };
                if sender.send(Ok(item)).is_err() {
                    return Ok(());
                }
            }
            Ok(())
        };
        if let Err(error) = read() {
            let _ = sender.send(Err(error));
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("dynatwin-local-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const SCHEMA: &str = "
        CREATE TABLE dm (TableName TEXT, ReadCapacityUnits INTEGER, WriteCapacityUnits INTEGER, TableInfo BLOB,
            BillingMode INTEGER, DeletionProtectionEnabled INTEGER);
        CREATE TABLE sm (StreamID TEXT, StreamStatus TEXT, TableName TEXT, StreamInfo BLOB);
        CREATE TABLE \"T\" (ObjectJSON BLOB);
    ";

    /// A database with the table `T`, of whose row these columns are given as SQL, and with the rows of further statements.
    fn database(folder: &Folder, columns: [&str; 4], info: &Json, more: &str) -> PathBuf {
        let path = folder.0.join("x.db");
        let _ = std::fs::remove_file(&path);
        let connection = Connection::open(&path).unwrap();
        let [read, write, mode, protection] = columns;
        let row =
            format!("INSERT INTO dm VALUES ('T', {read}, {write}, CAST('{info}' AS BLOB), {mode}, {protection});");
        connection.execute_batch(&format!("{SCHEMA}{row}{more}")).unwrap();
        path
    }

    /// The description of a table with three indexes and this member.
    fn info(more: &Json) -> Json {
        let key = json!({"AttributeName": "id", "AttributeType": "S"});
        let indexes = [("i", 7), ("j", 9), ("k", 11)].map(|(name, units)| {
            json!({"IndexName": name, "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": units, "WriteCapacityUnits": units + 1}})
        });
        let mut info = json!({"Attributes": [key], "LSIList": [], "GSIList": indexes,
            "SQLiteIndex": {"": [{"DynamoDBAttribute": key, "KeyType": "HASH"}]}});
        for (name, value) in more.as_object().unwrap() {
            info[name] = value.clone();
        }
        info
    }

    /// Each column of a table's row has its member, or a default.
    #[test]
    fn columns_are_members_of_the_table() {
        let folder = Folder::new("columns");
        let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
        let provisioned =
            |read, write| json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(read, write)});
        let protected = json!({"BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": true});
        let on_demand = json!({"BillingMode": "PAY_PER_REQUEST"});
        for (columns, expected) in [
            (["3", "4", "0", "'null'"], provisioned(3, 4)),
            (["3", "NULL", "0", "'null'"], provisioned(3, 1)),
            (["NULL", "4", "NULL", "NULL"], provisioned(1, 4)),
            (["NULL", "NULL", "2", "'false'"], provisioned(1, 1)),
            (["3", "4", "1", "'null'"], on_demand.clone()),
            (["0", "0", "1", "NULL"], on_demand.clone()),
            (["0", "0", "1", "'true'"], protected),
            (["0", "0", "1", "'false'"], on_demand.clone()),
            (["0", "0", "1", "1"], on_demand),
        ] {
            let path = database(&folder, columns, &info(&json!({})), "");
            let mut expected = expected;
            let mut indexes = info(&json!({}))["GSIList"].take();
            if expected["BillingMode"] == "PAY_PER_REQUEST" {
                for index in indexes.as_array_mut().unwrap() {
                    index.as_object_mut().unwrap().remove("ProvisionedThroughput");
                }
            }
            expected["GlobalSecondaryIndexes"] = indexes;
            expected["TableName"] = "T".into();
            expected["KeySchema"] = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
            expected["AttributeDefinitions"] = json!([{"AttributeName": "id", "AttributeType": "S"}]);
            let seed = read(&path).unwrap();
            assert_eq!(seed.tables.len(), 1);
            assert_eq!(Json::Object(seed.tables[0].create.clone()), expected, "{columns:?}");
            assert_eq!((seed.tables[0].line, seed.tables[0].time_to_live.as_deref()), (0, None));
        }
        let columns = ["0", "0", "1", "'null'"];
        let stream = |status: &str, view: &str| {
            format!(
                "INSERT INTO sm VALUES ('{status}{view}', '{status}', 'T', CAST('{{\"streamViewType\":\"{view}\"}}' AS BLOB));"
            )
        };
        for (streams, view) in [
            (String::new(), None),
            (stream("ENABLED", "KEYS_ONLY"), Some("KEYS_ONLY")),
            (stream("DISABLED", "KEYS_ONLY"), None),
            (
                stream("DISABLED", "KEYS_ONLY") + &stream("ENABLED", "NEW_IMAGE"),
                Some("NEW_IMAGE"),
            ),
            (stream("ENABLED", "KEYS_ONLY").replace("'T'", "'U'"), None),
        ] {
            let lists = json!({"GSIList": [], "LSIList": null, "TimeToLiveAttributeName": "expires"});
            let path = database(&folder, columns, &info(&lists), &streams);
            let table = read(&path).unwrap().tables.remove(0);
            let expected = view.map(|view| json!({"StreamEnabled": true, "StreamViewType": view}));
            assert_eq!(table.create.get("StreamSpecification"), expected.as_ref(), "{streams}");
            assert_eq!(table.time_to_live.as_deref(), Some("expires"));
            for list in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
                assert_eq!(table.create.get(list), None, "{list}");
            }
        }
    }

    /// Items of a database have no line numbers; the error of an invalid one names its table and ends the items.
    #[test]
    fn rows_are_items() {
        let folder = Folder::new("rows");
        let rows = |values: &[&str]| {
            let rows = values.iter().map(|value| format!("INSERT INTO T VALUES ({value});"));
            rows.collect::<String>()
        };
        let (first, second) = (
            r#"CAST('{"id":{"S":"a"}}' AS BLOB)"#,
            r#"CAST('{"id":{"S":"b"}}' AS BLOB)"#,
        );
        for (values, count, error) in [
            (&[][..], 0, None),
            (&[first, second], 2, None),
            (
                &[first, "CAST('{' AS BLOB)", second],
                1,
                Some("table T: an item is not JSON: "),
            ),
            (
                &[first, "CAST('[]' AS BLOB)", second],
                1,
                Some("table T: an item is not an object"),
            ),
            (&["1", second], 0, Some("table T: ")),
        ] {
            let path = database(&folder, ["0", "0", "1", "NULL"], &info(&json!({})), &rows(values));
            let mut read: Vec<_> = read(&path).unwrap().items.remove(0).items.collect();
            let last = read.pop_if(|item| item.is_err()).map(|item| item.unwrap_err());
            let begin = error.map(|error| format!("{}: {error}", path.display()));
            match (&last, &begin) {
                (Some(last), Some(begin)) => assert!(last.to_string().starts_with(begin), "{last}"),
                _ => assert_eq!(last.is_some(), begin.is_some(), "{values:?}"),
            }
            assert_eq!(read.len(), count, "{values:?}");
            for (item, id) in read.into_iter().zip(["a", "b"]) {
                let item = item.unwrap();
                let attributes = json!({"id": {"S": id}}).as_object().unwrap().clone();
                assert_eq!((item.line, item.attributes), (0, Attributes::Typed(attributes)));
            }
        }
    }

    /// Each table has its own rows, also if its name is no plain identifier of SQL.
    #[test]
    fn tables_may_have_names_that_sql_quotes() {
        let folder = Folder::new("names");
        let names = ["my-table", "my.table", "Order", "1st", "_x"];
        let tables = names.map(|name| {
            format!(
                r#"INSERT INTO dm VALUES ('{name}', 0, 0, CAST('{}' AS BLOB), 1, NULL); CREATE TABLE "{name}" (ObjectJSON BLOB);
                INSERT INTO "{name}" VALUES (CAST('{{"id":{{"S":"{name}"}}}}' AS BLOB));"#,
                info(&json!({}))
            )
        });
        let path = database(&folder, ["0", "0", "1", "NULL"], &info(&json!({})), &tables.concat());
        let seed = read(&path).unwrap();
        assert_eq!(seed.tables.len(), 1 + names.len());
        let items = seed.items.into_iter().flat_map(|of_table| of_table.items);
        let mut found: Vec<_> = items.map(|item| item.unwrap().attributes).collect();
        let mut expected = names.map(|name| Attributes::Typed(json!({"id": {"S": name}}).as_object().unwrap().clone()));
        found.sort_by_key(|attributes| format!("{attributes:?}"));
        expected.sort_by_key(|attributes| format!("{attributes:?}"));
        assert_eq!(found, expected);
    }

    /// All items are read, however many they are and whenever they are taken.
    #[test]
    fn all_rows_are_read() {
        let folder = Folder::new("many");
        for count in [AHEAD - 1, AHEAD, AHEAD + 1, AHEAD + 2, 3 * AHEAD + 5] {
            let rows = (0..count).map(|at| format!("(CAST('{{\"id\":{{\"S\":\"{at}\"}}}}' AS BLOB))"));
            let rows = format!("INSERT INTO T VALUES {};", rows.collect::<Vec<_>>().join(","));
            let path = database(&folder, ["0", "0", "1", "NULL"], &info(&json!({})), &rows);
            let ids = read(&path).unwrap().items.remove(0).items.map(|item| {
                let Attributes::Typed(mut attributes) = item.unwrap().attributes else {
                    panic!("an item has types");
                };
                attributes["id"]["S"].take()
            });
            let expected: Vec<_> = (0..count).map(|at| json!(at.to_string())).collect();
            assert_eq!(ids.collect::<Vec<_>>(), expected);
        }
    }

    /// The lists of indexes are separate, and an empty one is left out.
    #[test]
    fn indexes_are_local_or_global() {
        let folder = Folder::new("indexes");
        let list = |names: &[&str]| {
            let key = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
            let index =
                |name: &&str| json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
            Json::Array(names.iter().map(index).collect())
        };
        let lists = [list(&[]), list(&["a"]), list(&["a", "b"])];
        for local in &lists {
            for global in &lists {
                let info = info(&json!({"LSIList": local, "GSIList": global}));
                let path = database(&folder, ["0", "0", "1", "NULL"], &info, "");
                let table = read(&path).unwrap().tables.remove(0);
                for (member, expected) in [("LocalSecondaryIndexes", local), ("GlobalSecondaryIndexes", global)] {
                    let expected = Some(expected).filter(|list| *list != &lists[0]);
                    assert_eq!(table.create.get(member), expected, "{member} of {info}");
                }
            }
        }
    }

    #[test]
    fn other_databases_are_refused() {
        let folder = Folder::new("others");
        let columns = ["0", "0", "1", "NULL"];
        for (info, message) in [
            (json!([]), "table T: TableInfo is a list, not an object"),
            (json!({}), "table T: the table T has no KeySchema"),
            (json!({"SQLiteIndex": {}}), "table T: TableInfo has no key"),
        ] {
            let path = database(&folder, columns, &info, "");
            let error = read(&path).unwrap_err();
            assert_eq!(error.to_string(), format!("{}: {message}", path.display()));
        }
        let path = database(&folder, columns, &info(&json!({})), "DROP TABLE dm;");
        assert!(
            read(&path)
                .unwrap_err()
                .message()
                .starts_with("not a database of DynamoDB Local: ")
        );
    }

    /// Files of a directory are those that end in `.db` and begin as a database.
    #[test]
    fn databases_of_a_directory() {
        let folder = Folder::new("directory");
        assert!(dynamodb_local_files(&folder.0).is_empty());
        for (name, text) in [
            ("e.db", &b"SQLite format 3\0"[..]),
            ("a.db", b"SQLite format 3\0 and more"),
            ("d.db", b"SQLite format 3\0"),
            ("b.db", b"SQLite format 3\0"),
            ("f.db", b"SQLite format 3\0"),
            ("exact.sqlite", b"SQLite format 3\0"),
            ("db", b"SQLite format 3\0"),
            ("other.db", b"SQLite format 4\0"),
            ("short.db", b"SQLite format 3"),
            ("empty.db", b""),
        ] {
            std::fs::write(folder.0.join(name), text).unwrap();
        }
        std::fs::create_dir(folder.0.join("c.db")).unwrap();
        let expected = ["a.db", "b.db", "d.db", "e.db", "f.db"].map(|name| folder.0.join(name));
        assert_eq!(dynamodb_local_files(&folder.0), expected);
        assert!(dynamodb_local_files(&folder.0.join("a.db")).is_empty());
    }
}
