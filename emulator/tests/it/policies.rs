//! Compares policy evaluation with a naive second implementation, and parses arbitrary text.
//!
//! `DYNATWIN_POLICIES=1000000` compares a million random policy sets; `DYNATWIN_SEED` replays a run.

mod decide;
mod generate;
mod naive;

use decide::decide;
use dynatwin_engine::iam::{PolicyDocument, PolicyKind};
use generate::{Case, Random};
use proptest::prelude::*;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn decisions_are_those_of_a_naive_evaluator() {
    let seed = from_environment("DYNATWIN_SEED").unwrap_or_else(|| std::process::id().into());
    let count = from_environment("DYNATWIN_POLICIES").unwrap_or(10_000);
    println!("DYNATWIN_SEED={seed} DYNATWIN_POLICIES={count}");
    let mut random = Random::Seeded(seed);
    let mut allowed = 0;
    let mut kinds = std::collections::HashMap::new();
    for number in 0..count {
        let case = Case::random(&mut random);
        let (ours, naive) = (decide(&case), naive::decide(&case));
        assert_eq!(ours, naive, "case {number} of seed {seed}: {case:#?}");
        allowed += u64::from(ours.is_none());
        if let Some(kind) = ours {
            *kinds.entry(kind).or_insert(0_u64) += 1;
        }
    }
    println!("{allowed} allowed, denied {kinds:?}");
    if count >= 10_000 {
        // The comparison is meaningful only if every outcome occurs.
        assert!(allowed > count / 50, "{allowed}");
        assert_eq!(kinds.len(), 13, "{kinds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// No text makes the parser panic, and a damaged document never allows what the intact one does not.
    #[test]
    fn damaged_documents_allow_no_more(seed in any::<u64>(), at in any::<prop::sample::Index>(), with in "[\\x00-\\x7f*?$\"{}\\[\\],:é]{0,3}", cut in 0_usize..6) {
        let mut random = Random::Seeded(seed);
        let document = generate::deny_only(&mut random).to_string();
        let start = at.index(document.len());
        let end = (start + cut).min(document.len());
        let damaged = format!("{}{with}{}", &document[..start], &document[end..]);
        for kind in [PolicyKind::Identity, PolicyKind::Resource, PolicyKind::Endpoint, PolicyKind::Session] {
            if let Ok(policy) = PolicyDocument::parse(&damaged, kind) {
                prop_assert!(policy.statements().iter().all(|statement| !statement.allows()), "{damaged}");
            }
        }
    }

    /// As the fuzzer `policy_decide`, which guides the bytes by coverage.
    #[test]
    fn decisions_of_chosen_cases_are_those_of_a_naive_evaluator(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let case = Case::random(&mut Random::Bytes(bytes.into_iter()));
        prop_assert_eq!(decide(&case), naive::decide(&case), "{:#?}", case);
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}") {
        for kind in [PolicyKind::Identity, PolicyKind::Resource] {
            let _ = PolicyDocument::parse(&text, kind);
            let _ = PolicyDocument::parse(&format!(r#"{{"Statement":{{"Effect":"Allow","Action":"*","Resource":{text:?}}}}}"#), kind);
        }
    }
}
