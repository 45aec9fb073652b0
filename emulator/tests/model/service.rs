//! The service model: its shapes, the places in requests, and requests that break no constraint.

use serde_json::{Map, Value, json};

/// The key of every map, and the name of the table that exists.
pub const KEY: &str = "one";

/// A step from a shape to one that it contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step<'m> {
    Member(&'m str),
    Element,
    Value,
}

/// A place in the requests of an operation, and the shape that it expects.
#[derive(Clone)]
pub struct Place<'m> {
    pub steps: Vec<Step<'m>>,
    /// The names of the shapes on the path, ending with the place's own.
    pub shapes: Vec<&'m str>,
}

/// The service model, and the requirements on requests that it does not contain.
pub struct Model(Value, Value);

impl Model {
    pub fn load() -> Model {
        let wording: Value = serde_json::from_str(include_str!("wording.json")).unwrap();
        let model = serde_json::from_str(include_str!("constraints.json")).unwrap();
        Model(model, wording["base"].clone())
    }

    pub fn shape(&self, name: &str) -> &Value {
        &self.0["shapes"][name]
    }

    /// Returns every place in the requests of an operation, up to the first repetition of a shape.
    pub fn places(&self, operation: &str) -> Vec<Place<'_>> {
        let input = self.0["operations"][operation]["input"].as_str().unwrap();
        let mut places = vec![Place {
            steps: vec![],
            shapes: vec![input],
        }];
        let mut at = 0;
        while at < places.len() {
            let place = places[at].clone();
            let name = place.shapes[place.shapes.len() - 1];
            let mut add = |step, shape: &'_ Value| {
                let shape = shape.as_str().unwrap();
                let mut next = place.clone();
                let repeats = next.shapes.contains(&shape);
                next.steps.push(step);
                // An attribute value is visited once, because its members can be attribute values again.
                if !repeats {
                    next.shapes.push(self.name_of(shape));
                    places.push(next);
                }
            };
            let shape = self.shape(name);
            for (member, of) in shape["members"].as_object().into_iter().flatten() {
                add(Step::Member(member), of);
            }
            if shape["type"] == "list" {
                add(Step::Element, &shape["member"]);
            }
            if shape["type"] == "map" {
                add(Step::Value, &shape["value"]);
            }
            at += 1;
        }
        places.remove(0);
        places
    }

    pub fn name_of(&self, shape: &str) -> &str {
        self.0["shapes"].as_object().unwrap().get_key_value(shape).unwrap().0
    }

    /// Returns the smallest value that breaks no constraint.
    pub fn valid(&self, name: &str) -> Value {
        let shape = self.shape(name);
        let least = shape["min"].as_u64().unwrap_or(0);
        match shape["type"].as_str().unwrap() {
            "structure" if name == "AttributeValue" => json!({"S": "a"}),
            "structure" => {
                let required = shape["required"].as_array().into_iter().flatten();
                let member = |member: &Value| {
                    let member = member.as_str().unwrap();
                    let shape = shape["members"][member].as_str().unwrap();
                    (member.to_owned(), self.valid(shape))
                };
                let more = self.1[name].as_object().into_iter().flatten();
                let more = more.map(|(member, value)| (member.clone(), value.clone()));
                Value::Object(required.map(member).chain(more).collect())
            }
            "list" => (0..least)
                .map(|_| self.valid(shape["member"].as_str().unwrap()))
                .collect(),
            "map" => (0..least)
                .map(|_| (KEY.to_owned(), self.valid(shape["value"].as_str().unwrap())))
                .collect::<Map<_, _>>()
                .into(),
            "string" => match shape["enum"].as_array() {
                Some(words) => words[0].clone(),
                None => text(least.max(KEY.len() as u64)).into(),
            },
            "boolean" => true.into(),
            "integer" | "long" => least.max(1).into(),
            "double" | "float" => 1.5.into(),
            "timestamp" => 1.into(),
            "blob" => "YQ==".into(),
            other => panic!("{name} is of the type {other}"),
        }
    }

    /// Returns a request that breaks no constraint except by `value` at the place; without a value, the place is
    /// omitted.
    pub fn request(&self, place: &Place<'_>, value: Option<Value>) -> Value {
        let mut inner = value;
        for (step, shape) in place.steps.iter().zip(&place.shapes).rev() {
            let mut outer = self.valid(shape);
            match (step, inner) {
                (Step::Member(member), Some(value)) => outer[member] = value,
                (Step::Member(member), None) => drop(outer.as_object_mut().unwrap().remove(*member)),
                (Step::Element, value) => outer = Value::Array(value.into_iter().collect()),
                (Step::Value, value) => {
                    outer = value
                        .into_iter()
                        .map(|value| (KEY.to_owned(), value))
                        .collect::<Map<_, _>>()
                        .into();
                }
            }
            inner = Some(outer);
        }
        inner.unwrap()
    }
}

pub fn text(length: u64) -> String {
    "one".chars().cycle().take(length as usize).collect()
}

impl Place<'_> {
    pub fn shape(&self) -> &str {
        self.shapes[self.shapes.len() - 1]
    }

    /// Returns the name in the rules of `wording.json`: `TransactItems.[].Put.TableName`, `RequestItems.{}.Keys`.
    pub fn name(&self) -> String {
        let step = |step: &Step<'_>| match step {
            Step::Member(name) => (*name).to_owned(),
            Step::Element => "[]".to_owned(),
            Step::Value => "{}".to_owned(),
        };
        self.steps.iter().map(step).collect::<Vec<_>>().join(".")
    }

    /// Returns the name in the newer layer's texts: `TransactItems.1.member.Put.TableName`.
    pub fn model_path(&self) -> String {
        let step = |step: &Step<'_>| match step {
            Step::Member(name) => (*name).to_owned(),
            Step::Element => "1.member".to_owned(),
            Step::Value => format!("{KEY}.member"),
        };
        self.steps.iter().map(step).collect::<Vec<_>>().join(".")
    }

    /// Returns the name in the framework's texts: `transactItems.1.member.put.tableName`.
    pub fn path(&self) -> String {
        let step = |step: &Step<'_>| match step {
            Step::Member(name) => name[..1].to_lowercase() + &name[1..],
            Step::Element => "1.member".to_owned(),
            Step::Value => format!("{KEY}.member"),
        };
        self.steps.iter().map(step).collect::<Vec<_>>().join(".")
    }
}
