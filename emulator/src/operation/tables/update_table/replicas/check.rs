//! Checks of `ReplicaUpdates` that need only the request (docs/behavior: 08 4).

use crate::context::Context;
use crate::error::{ApiError, Violations, constraint};
use crate::operation::check::words;
use crate::request::{RegionOnly, ReplicaAction, ReplicaUpdate, UpdateTable};
use crate::sorted::SortedMap;

/// The regions of replicas (AWS General Reference). The order in which the service lists them was not recorded.
const REGIONS: [&str; 34] = [
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// The regions of replicas with strong consistency, and of their witness. That those of one table must be on one
/// continent is documented, but was not enforced when it was measured.
const STRONG_REGIONS: [&str; 10] = [
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "eu-central-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "us-east-1",
    "us-east-2",
    "us-west-2",
];

/// The number of regions of a table with strong consistency besides its own.
const STRONG_OTHERS: usize = 2;

pub(in super::super) fn check_members(violations: &mut Violations, request: &UpdateTable) {
    if let Some(word) = request.multi_region_consistency.as_deref()
        && !matches!(word, "EVENTUAL" | "STRONG")
    {
        let set = constraint::one_of(words::MULTI_REGION_CONSISTENCY);
        violations.value(word, "multiRegionConsistency", set);
    }
    if let Some(witnesses) = &request.global_table_witness_updates {
        match witnesses.kept[..] {
            [] => violations.value("[]", "globalTableWitnessUpdates", constraint::min_length(1)),
            [_, _, ..] => violations.value_not_echoed("globalTableWitnessUpdates", constraint::max_length(1)),
            [_] => violations.add(Some(&witnesses.violations)),
        }
    }
    violations.add(request.replica_updates.as_ref().map(|updates| &updates.violations));
}

/// The kind of a replica update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplicaChangeKind {
    Create,
    Update,
    Delete,
    Disassociate,
}

/// The requested updates. Repeated updates of the same region count once.
pub(super) struct ReplicaChanges<'r> {
    /// The kind of the updates, which is the same for all.
    pub kind: Option<ReplicaChangeKind>,
    pub replicas: Vec<&'r ReplicaAction>,
    pub new_witnesses: Vec<&'r str>,
    pub old_witnesses: Vec<&'r str>,
    pub consistency: Option<&'r str>,
}

/// The region of an action.
pub(super) fn region_of(action: &ReplicaAction) -> &str {
    action.region_name.as_deref().unwrap_or_default()
}

/// Whether an update has any member besides its region.
fn changes(action: &ReplicaAction) -> bool {
    let region_only = ReplicaAction {
        region_name: action.region_name.clone(),
        ..ReplicaAction::default()
    };
    *action != region_only
}

/// The actions of an element.
fn actions(update: &ReplicaUpdate) -> impl Iterator<Item = (&ReplicaAction, ReplicaChangeKind)> {
    [
        (&update.create, ReplicaChangeKind::Create),
        (&update.update, ReplicaChangeKind::Update),
        (&update.delete, ReplicaChangeKind::Delete),
        (&update.disassociate, ReplicaChangeKind::Disassociate),
    ]
    .into_iter()
    .filter_map(|(action, kind)| Some((action.as_ref()?, kind)))
    .filter(|(action, kind)| *kind != ReplicaChangeKind::Update || changes(action))
}

impl<'r> ReplicaChanges<'r> {
    /// Parses a request that has passed [`check_together`].
    pub fn read(request: &'r UpdateTable) -> ReplicaChanges<'r> {
        let updates = request.replica_updates.iter().flat_map(|updates| &updates.kept);
        let all: Vec<_> = updates.flat_map(actions).collect();
        let mut replicas: Vec<&ReplicaAction> = Vec::with_capacity(all.len());
        for (action, _) in &all {
            if !replicas.contains(action) {
                replicas.push(action);
            }
        }
        let witnesses = request.global_table_witness_updates.iter();
        let witnesses = || witnesses.clone().flat_map(|updates| &updates.kept);
        let name = |region: &'r RegionOnly| region.region_name.as_deref().unwrap_or_default();
        ReplicaChanges {
            kind: all.first().map(|(_, kind)| *kind),
            replicas,
            new_witnesses: witnesses().filter_map(|each| each.create.as_ref().map(name)).collect(),
            old_witnesses: witnesses().filter_map(|each| each.delete.as_ref().map(name)).collect(),
            consistency: request.multi_region_consistency.as_deref(),
        }
    }

    /// Whether the request specifies strong consistency.
    pub fn is_strong(&self) -> bool {
        self.consistency == Some("STRONG")
    }

    /// All regions in the request, replicas first.
    fn regions(&self) -> impl Iterator<Item = &'r str> {
        let replicas = self.replicas.iter().map(|action| region_of(action));
        let witnesses = self.new_witnesses.iter().chain(&self.old_witnesses).copied();
        replicas.chain(witnesses)
    }
}

/// Checks which actions can be combined.
pub(in super::super) fn check_together(request: &UpdateTable) -> Result<(), ApiError> {
    let Some(updates) = &request.replica_updates else {
        return Ok(());
    };
    let changes = ReplicaChanges::read(request);
    let refuse = |text: &'static str| Err(ApiError::validation(text));
    if !changes.new_witnesses.is_empty() && !changes.is_strong() {
        return refuse(
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is present.",
        );
    }
    let elements = || updates.kept.iter().map(|update| actions(update).collect::<Vec<_>>());
    if elements().any(|actions| actions.is_empty()) {
        return refuse("There are no actions specified in the Replica Update Action of the request.");
    }
    let all: Vec<_> = elements().flatten().collect();
    if changes.consistency.is_some() && all.iter().any(|(_, kind)| *kind != ReplicaChangeKind::Create) {
        return refuse("Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.");
    }
    if elements().any(|actions| actions.len() > 1) {
        return refuse(MIXED);
    }
    let mut kinds = SortedMap::new();
    for (action, kind) in &all {
        if *kinds.get_or_insert(region_of(action), *kind) != *kind {
            return refuse(ONE_REGION);
        }
    }
    if changes.new_witnesses.iter().any(|witness| kinds.contains_key(witness)) {
        return refuse(ONE_REGION);
    }
    if all.iter().any(|(_, kind)| Some(*kind) != changes.kind) {
        return refuse(MIXED);
    }
    if changes.kind == Some(ReplicaChangeKind::Create) && !changes.is_strong() && changes.replicas.len() > 1 {
        return refuse(MORE_THAN_ONE);
    }
    let others = changes.replicas.len() + changes.new_witnesses.len();
    if changes.is_strong() && (others != STRONG_OTHERS || changes.replicas.is_empty()) {
        return refuse("Unsupported replica count for global tables with MultiRegionConsistency set to STRONG.");
    }
    Ok(())
}

const MIXED: &str = "Update table operation with more than one type of replica actions not allowed.";
const ONE_REGION: &str = "Cannot target multiple regions with the same action";
pub(super) const MORE_THAN_ONE: &str =
    "Update table operation with more than one create or delete replica actions not allowed";

/// Checks the regions, as far as the caller's region determines them.
pub(super) fn check_regions(context: &Context<'_>, table: &str, changes: &ReplicaChanges<'_>) -> Result<(), ApiError> {
    for region in changes.regions() {
        if region.is_empty() {
            let arn = context.table_arn_in("", table);
            return Err(ApiError::access_denied(context.account, "Scan", &arn));
        }
    }
    if changes.new_witnesses.contains(&context.region) {
        return Err(ApiError::validation(
            "Cannot add a witness in the same region as an existing replica when creating a global table with MultiRegionConsistency set to STRONG.",
        ));
    }
    if changes.kind == Some(ReplicaChangeKind::Disassociate) {
        return check_own_region(context, changes);
    }
    for region in changes.regions() {
        if region == context.region {
            return Err(ApiError::validation(
                "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or UpdateTable as required.",
            ));
        }
        if !REGIONS.contains(&region) {
            return Err(ApiError::validation(format!(
                "Region {region} is not supported. The latest version of global tables are only supported in the following regions: [{}]",
                REGIONS.join(", ")
            )));
        }
    }
    if changes.is_strong() {
        let all = std::iter::once(context.region).chain(changes.regions());
        let unable: Vec<&str> = all.filter(|region| !STRONG_REGIONS.contains(region)).collect();
        if !unable.is_empty() {
            return Err(ApiError::validation(format!(
                "Unsupported Region(s) specified for global tables with MultiRegionConsistency set to STRONG: [{}].",
                unable.join(", ")
            )));
        }
    }
    Ok(())
}

/// Refuses to disassociate a replica from another region than its own.
fn check_own_region(context: &Context<'_>, changes: &ReplicaChanges<'_>) -> Result<(), ApiError> {
    let others = changes.replicas.iter().map(|action| region_of(action));
    let Some(other) = others.into_iter().find(|region| *region != context.region) else {
        return Ok(());
    };
    Err(ApiError::validation(format!(
        "A replica can only be disassociated by a request to its own region. Send the request to {other}."
    )))
}
