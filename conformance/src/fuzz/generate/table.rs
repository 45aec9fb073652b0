//! Tables with indexes and streams, and operations that change them.

use serde_json::{Value, json};

use super::{Maker, Random, Request};

/// The definition of a table for which requests are generated.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) hash: &'static str,
    /// The type of `sk`, if the table has it.
    pub(super) range: Option<&'static str>,
    pub(super) indexes: Vec<Index>,
    /// Whether it has a stream initially.
    pub(super) has_stream: bool,
    view: &'static str,
}

/// An index; its keys are attributes of fixed types.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: &'static str,
    pub(super) global: bool,
    pub(super) hash: &'static str,
    pub(super) range: Option<&'static str>,
    projection: Value,
}

/// Returns the tables of a history: four keys, with different indexes and streams.
pub(super) fn tables(random: &mut Random) -> Vec<Table> {
    let keys = [
        ("plain", "S", None),
        ("ranged", "S", Some("S")),
        ("numbered", "N", Some("N")),
        ("bytes", "B", Some("B")),
    ];
    keys.map(|(name, hash, range)| {
        let views = ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"];
        let mut indexes = vec![index(random, "by-n", "n", None)];
        if range.is_some() {
            indexes.push(index(random, "by-g", "g", Some("sk")));
            indexes.push(index(random, "by-l", "pk", Some("l")));
        } else {
            indexes.push(index(random, "by-g", "g", Some("l")));
        }
        indexes.retain(|_| random.percent(80));
        Table {
            name,
            hash,
            range,
            indexes,
            has_stream: random.percent(25),
            view: random.pick(&views),
        }
    })
    .to_vec()
}

fn index(random: &mut Random, name: &'static str, hash: &'static str, range: Option<&'static str>) -> Index {
    let projection = match random.below(4) {
        0 => json!({"ProjectionType": "KEYS_ONLY"}),
        1 => json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]}),
        _ => json!({"ProjectionType": "ALL"}),
    };
    Index {
        name,
        global: name != "by-l",
        hash,
        range,
        projection,
    }
}

impl Table {
    /// Returns the type of a key attribute of this table or of one of its indexes.
    pub(super) fn kind(&self, attribute: &str) -> &'static str {
        match attribute {
            "pk" => self.hash,
            "sk" => self.range.unwrap_or("S"),
            "n" => "N",
            _ => "S",
        }
    }

    pub(super) fn create(&self) -> Request {
        let mut request = json!({
            "TableName": self.name, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": schema("pk", self.range.map(|_| "sk")),
        });
        let mut names = vec!["pk"];
        names.extend(self.range.map(|_| "sk"));
        for index in &self.indexes {
            names.extend([Some(index.hash), index.range].into_iter().flatten());
            let list = if index.global {
                "GlobalSecondaryIndexes"
            } else {
                "LocalSecondaryIndexes"
            };
            if request[list].is_null() {
                request[list] = json!([]);
            }
            if let Some(list) = request[list].as_array_mut() {
                list.push(index.definition());
            }
        }
        request["AttributeDefinitions"] = self.definitions(names);
        if self.has_stream {
            request["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": self.view});
        }
        ("CreateTable".to_owned(), request)
    }

    fn definitions(&self, mut names: Vec<&str>) -> Value {
        names.sort_unstable();
        names.dedup();
        let define = |name: &&str| json!({"AttributeName": name, "AttributeType": self.kind(name)});
        names.iter().map(define).collect()
    }
}

impl Index {
    /// Returns whether it projects all attributes.
    pub(super) fn is_whole(&self) -> bool {
        self.projection["ProjectionType"] == "ALL"
    }

    fn definition(&self) -> Value {
        json!({"IndexName": self.name, "KeySchema": schema(self.hash, self.range), "Projection": self.projection})
    }
}

fn schema(hash: &str, range: Option<&str>) -> Value {
    let mut schema = vec![json!({"AttributeName": hash, "KeyType": "HASH"})];
    schema.extend(range.map(|range| json!({"AttributeName": range, "KeyType": "RANGE"})));
    schema.into()
}

impl Maker {
    /// Creates or deletes a stream or an index, or describes the table.
    pub(super) fn control(&mut self) -> Request {
        let table = self.table();
        let name = table.name;
        let request = match self.random.below(5) {
            0 => {
                let on = json!({"StreamEnabled": true, "StreamViewType": table.view});
                json!({"TableName": name, "StreamSpecification": on})
            }
            1 => json!({"TableName": name, "StreamSpecification": {"StreamEnabled": false}}),
            2 => {
                let index = index(&mut self.random, "by-a", "n", Some("l"));
                let names = vec!["n", "l"];
                let create = json!({"Create": index.definition()});
                json!({
                    "TableName": name, "AttributeDefinitions": table.definitions(names),
                    "GlobalSecondaryIndexUpdates": [create],
                })
            }
            3 => {
                let index = self.random.pick(&["by-n", "by-g", "by-a"]);
                json!({"TableName": name, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]})
            }
            _ => return ("DescribeTable".to_owned(), json!({"TableName": name})),
        };
        ("UpdateTable".to_owned(), request)
    }
}
