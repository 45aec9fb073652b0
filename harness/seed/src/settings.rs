//! The settings of a table that its description does not contain.

use serde_json::{Map, Value as Json, json};

use crate::database::Database;
use crate::load::send;

/// Returns a table's definition: the answer of DescribeTable, and beside its `Table` the settings of other operations, with the
/// members of [`DEFINITION`](crate::schema::DEFINITION). Tells `note` what cannot be read, and what a copy does not contain.
pub(crate) fn definition(from: &dyn Database, name: &str, description: &Json, note: &dyn Fn(&str)) -> Json {
    let source = Source {
        from,
        name,
        description: &description["Table"],
        note,
    };
    let mut definition = description.clone();
    for (member, setting) in [
        ("TimeToLiveSpecification", source.time_to_live()),
        ("PointInTimeRecoverySpecification", source.recovery()),
        ("Tags", source.tags()),
        ("ContributorInsights", source.insights()),
    ] {
        if let Some(setting) = setting {
            definition[member] = setting;
        }
    }
    source.note_what_is_not_copied();
    definition
}

struct Source<'s> {
    from: &'s dyn Database,
    name: &'s str,
    description: &'s Json,
    note: &'s dyn Fn(&str),
}

impl Source<'_> {
    /// Sends a request about a feature, which other implementations may not have. If it is refused otherwise, notes that `what` is
    /// not copied.
    fn read(&self, operation: &str, body: &Json, what: &str) -> Option<Json> {
        match send(self.from, operation, body) {
            Ok(answer) => Some(answer),
            Err(error) if error.code == "PolicyNotFoundException" || error.is_unknown_operation() => None,
            Err(error) => {
                (self.note)(&format!("{}: {what} not copied: {error}", self.name));
                None
            }
        }
    }

    fn time_to_live(&self) -> Option<Json> {
        let body = json!({"TableName": self.name});
        let answer = self.read("DescribeTimeToLive", &body, "the settings of time to live are")?;
        let setting = &answer["TimeToLiveDescription"];
        let is_on = matches!(setting["TimeToLiveStatus"].as_str(), Some("ENABLED" | "ENABLING"));
        let attribute = setting["AttributeName"].as_str().filter(|_| is_on)?;
        Some(json!({"Enabled": true, "AttributeName": attribute}))
    }

    fn recovery(&self) -> Option<Json> {
        let body = json!({"TableName": self.name});
        let answer = self.read("DescribeContinuousBackups", &body, "the settings of recovery are")?;
        let setting = &answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        if setting["PointInTimeRecoveryStatus"] != "ENABLED" {
            return None;
        }
        let mut specification = json!({"PointInTimeRecoveryEnabled": true});
        if let Some(days) = setting["RecoveryPeriodInDays"].as_u64() {
            specification["RecoveryPeriodInDays"] = days.into();
        }
        Some(specification)
    }

    fn tags(&self) -> Option<Json> {
        let mut tags = Vec::new();
        let mut body = json!({"ResourceArn": self.description["TableArn"]});
        while let Some(answer) = self.read("ListTagsOfResource", &body, "tags are") {
            tags.extend(answer["Tags"].as_array().cloned().unwrap_or_default());
            match &answer["NextToken"] {
                Json::String(token) => body["NextToken"] = token.as_str().into(),
                _ => break,
            }
        }
        (!tags.is_empty()).then_some(Json::Array(tags))
    }

    fn insights(&self) -> Option<Json> {
        let indexes = self.description["GlobalSecondaryIndexes"]
            .as_array()
            .into_iter()
            .flatten();
        let indexes = indexes.map(|index| Some(&index["IndexName"]));
        let mut found = Vec::new();
        for index in std::iter::once(None).chain(indexes) {
            let mut insights = Map::new();
            if let Some(index) = index {
                insights.insert("IndexName".into(), index.clone());
            }
            let mut body = Json::Object(insights.clone());
            body["TableName"] = self.name.into();
            let Some(answer) = self.read("DescribeContributorInsights", &body, "Contributor Insights are") else {
                // A refusal about the table ends the search; one about an index leaves the others.
                index?;
                continue;
            };
            let status = answer["ContributorInsightsStatus"].as_str();
            if !matches!(status, Some("ENABLED" | "ENABLING")) {
                continue;
            }
            if let Some(mode) = answer["ContributorInsightsMode"].as_str() {
                insights.insert("ContributorInsightsMode".into(), mode.into());
            }
            found.push(Json::Object(insights));
        }
        (!found.is_empty()).then_some(Json::Array(found))
    }

    /// Notes settings that refer to resources, principals or regions of the source.
    fn note_what_is_not_copied(&self) {
        let name = self.name;
        if let Some(key) = self.description["SSEDescription"]["KMSMasterKeyArn"].as_str() {
            (self.note)(&format!("{name}: encryption with the key {key} is not copied"));
        }
        let replicas = self.description["Replicas"].as_array().into_iter().flatten();
        for region in replicas.filter_map(|replica| replica["RegionName"].as_str()) {
            (self.note)(&format!("{name}: the replica in {region} is not copied"));
        }
        for (arn, what) in [
            ("TableArn", "the resource policy"),
            ("LatestStreamArn", "the resource policy of the stream"),
        ] {
            let body = json!({"ResourceArn": self.description[arn]});
            if body["ResourceArn"].is_string() && self.read("GetResourcePolicy", &body, &format!("{what} is")).is_some()
            {
                (self.note)(&format!("{name}: {what} is not copied"));
            }
        }
        let body = json!({"TableName": name});
        let answer = self.read("DescribeKinesisStreamingDestination", &body, "Kinesis destinations are");
        let destinations = answer
            .as_ref()
            .and_then(|answer| answer["KinesisDataStreamDestinations"].as_array());
        for destination in destinations.into_iter().flatten() {
            let status = destination["DestinationStatus"].as_str();
            if let (Some("ACTIVE" | "ENABLING" | "UPDATING"), Some(arn)) = (status, destination["StreamArn"].as_str()) {
                (self.note)(&format!("{name}: the Kinesis destination {arn} is not copied"));
            }
        }
    }
}
