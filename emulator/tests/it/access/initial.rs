//! Access control after a reset or a restored snapshot.

use dynatwin_engine::iam::Directory;
use dynatwin_engine::{Engine, Moment};
use serde_json::json;

use super::twin::{ACCOUNT, Twin};

#[test]
fn a_restored_state_has_the_initial_access_control() {
    let user = |name: &str| json!({"accounts": {ACCOUNT: {"users": {name: {"accessKeys": [{"accessKeyId": name, "secretAccessKey": "s"}]}}}}});
    type Restores = fn(&Engine);
    let ways: [(&str, bool, Restores); 3] = [
        ("restore", true, |engine| engine.restore(&engine.snapshot()).unwrap()),
        ("reset_all", true, |engine| engine.reset_all().unwrap()),
        ("reset", false, |engine| engine.reset().unwrap()),
    ];
    for (what, restores, change) in ways {
        for initial in [None, Some("ann")] {
            let twin = Twin::new(&user("ann"));
            match initial {
                Some(name) => {
                    let directory = Directory::read(&user(name).to_string(), Moment::START);
                    twin.engine.set_initial_access(directory.unwrap());
                }
                None => twin.engine.configure_access(None),
            }
            twin.configure(&user("bob"));
            change(&twin.engine);
            // Nobody has a policy: a key that is known is denied, and one that is unknown is refused for that reason.
            let known = |key: &str| {
                let (_, answer) = twin.call(key, "ListTables", &json!({}));
                answer["__type"]
                    .as_str()
                    .unwrap_or("allowed")
                    .rsplit('#')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            let (denied, unknown) = ("AccessDeniedException", "UnrecognizedClientException");
            let expect = match (restores, initial) {
                (false, _) => [unknown, denied],
                (true, Some(_)) => [denied, unknown],
                (true, None) => ["allowed", "allowed"],
            };
            assert_eq!(["ann", "bob"].map(known), expect, "{what}, {initial:?}");
        }
    }
}
