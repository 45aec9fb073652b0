//! Shrinks a mismatch to the shortest list of requests that still shows it.

use serde_json::Value;

use super::generate::Request;

/// The maximum number of smaller histories that are tried.
const TRIES: usize = 400;

/// Shrinks a history as long as `shows` returns true for the smaller one.
pub(super) async fn shrink<F>(mut history: Vec<Request>, mut shows: impl FnMut(Vec<Request>) -> F) -> Vec<Request>
where
    F: Future<Output = bool>,
{
    let mut tries = 0;
    let mut length = history.len() / 2;
    while length > 0 && tries < TRIES {
        let mut at = history.len().saturating_sub(length);
        loop {
            let mut smaller = history.clone();
            smaller.drain(at..(at + length).min(smaller.len()));
            tries += 1;
            if !smaller.is_empty() && shows(smaller.clone()).await {
                history = smaller;
            }
            if at == 0 || tries >= TRIES {
                break;
            }
            at = at.saturating_sub(length).min(history.len());
        }
        length /= 2;
    }
    for at in (0..history.len()).rev() {
        let mut number = 0;
        while tries < TRIES {
            let mut smaller = history.clone();
            let Some(part) = without(&smaller[at].1, number) else {
                break;
            };
            smaller[at].1 = part;
            prune(&mut smaller[at].1);
            tries += 1;
            if shows(smaller.clone()).await {
                history = smaller;
            } else {
                number += 1;
            }
        }
    }
    history
}

/// The value without its `number`-th part: a member, an element, or an operand of `AND`, `OR` or a comma in a text.
fn without(value: &Value, number: usize) -> Option<Value> {
    let mut left = number;
    let mut copy = value.clone();
    take(&mut copy, &mut left).then_some(copy)
}

fn take(value: &mut Value, left: &mut usize) -> bool {
    match value {
        Value::Object(object) => {
            let names: Vec<String> = object.keys().cloned().collect();
            for name in &names {
                // Without its table, a request would show a different mismatch.
                if name != "TableName" {
                    if *left == 0 {
                        object.remove(name);
                        return true;
                    }
                    *left -= 1;
                }
                if object.get_mut(name).is_some_and(|inner| take(inner, left)) {
                    return true;
                }
            }
            false
        }
        Value::Array(list) => {
            for at in 0..list.len() {
                if *left == 0 {
                    list.remove(at);
                    return true;
                }
                *left -= 1;
                if take(&mut list[at], left) {
                    return true;
                }
            }
            false
        }
        Value::String(text) => {
            for between in [" AND ", " OR ", ", "] {
                let parts: Vec<&str> = text.split(between).collect();
                if parts.len() > 1 {
                    if *left < parts.len() {
                        let kept = parts
                            .iter()
                            .enumerate()
                            .filter(|(at, _)| at != left)
                            .map(|(_, part)| *part);
                        *text = kept.collect::<Vec<_>>().join(between);
                        return true;
                    }
                    *left -= parts.len();
                }
            }
            false
        }
        _ => false,
    }
}

/// Removes names and values that no expression uses.
fn prune(request: &mut Value) {
    match request {
        Value::Array(list) => list.iter_mut().for_each(prune),
        Value::Object(object) => {
            let texts: Vec<String> = object
                .values()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect();
            let word = |letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, ':' | '#' | '_'));
            let used = |name: &String| texts.iter().any(|text| text.split(word).any(|part| part == name));
            for member in ["ExpressionAttributeNames", "ExpressionAttributeValues"] {
                if let Some(Value::Object(members)) = object.get_mut(member) {
                    members.retain(|name, _| used(name));
                    if members.is_empty() {
                        object.remove(member);
                    }
                }
            }
            object.values_mut().for_each(prune);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn irrelevant_requests_are_removed() {
        let put = |name: &str| {
            (
                "PutItem".to_owned(),
                json!({"TableName": "t", "Item": {name: {"S": "x"}, "z": {"S": "y"}}}),
            )
        };
        let history = vec![put("a"), put("b"), put("c"), put("d"), put("e")];
        let small = shrink(history, |history| async move {
            history.iter().any(|(_, request)| request["Item"]["c"]["S"] == "x")
        })
        .await;
        assert_eq!(
            small,
            [(
                "PutItem".to_owned(),
                json!({"TableName": "t", "Item": {"c": {"S": "x"}}})
            )]
        );
    }

    #[test]
    fn unused_names_go() {
        let mut request = json!({
            "ConditionExpression": "#a = :v1",
            "ExpressionAttributeNames": {"#a": "a", "#b": "b"},
            "ExpressionAttributeValues": {":v": {"S": ""}, ":v1": {"S": ""}},
        });
        prune(&mut request);
        assert_eq!(request["ExpressionAttributeNames"], json!({"#a": "a"}));
        assert_eq!(request["ExpressionAttributeValues"], json!({":v1": {"S": ""}}));
    }
}
