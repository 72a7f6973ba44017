use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

#[test]
fn sdk_20_a_change_is_verified_or_restored() {
    let run = |events: &[LoopEvent]| {
        events.iter().try_fold(LoopState::Idle, |state, event| state.on(*event))
    };
    use LoopEvent as E;
    let edited = [E::CheckpointCreated, E::EditsStarted, E::EditsApplied];
    assert_eq!(run(&edited), Ok(LoopState::EditsApplied));
    let with = |more: &[E]| run(&[&edited, more].concat());
    assert_eq!(with(&[E::VerifyPassed]), Ok(LoopState::VerifyPassed));
    assert_eq!(with(&[E::VerifyPassed, E::Finished]), Ok(LoopState::Idle));
    assert_eq!(with(&[E::VerifyFailed]), Ok(LoopState::VerifyFailed));
    assert_eq!(with(&[E::VerifyFailed, E::RecoveryStarted]), Ok(LoopState::Recovering));
    let restored = [E::VerifyFailed, E::RecoveryStarted, E::RecoveryFinished];
    assert_eq!(with(&restored), Ok(LoopState::Idle));
    let error = run(&[E::EditsStarted]).unwrap_err();
    assert_eq!(error, InvalidTransition { state: LoopState::Idle, event: E::EditsStarted });
    assert!(with(&[E::VerifyFailed, E::Finished]).is_err(), "a failure is not finished");
    assert!(with(&[E::VerifyFailed, E::VerifyPassed]).is_err());
}

#[test]
fn sdk_20_every_state_leads_back_to_idle() {
    let mut good = HashSet::from([LoopState::Idle]);
    for _ in LoopState::ALL {
        let leads = |state: &LoopState| {
            LoopEvent::ALL.iter().any(|event| state.on(*event).is_ok_and(|it| good.contains(&it)))
        };
        let more: Vec<_> = LoopState::ALL.into_iter().filter(leads).collect();
        good.extend(more);
    }
    assert_eq!(good.len(), LoopState::ALL.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An unverified tree ends only by a passed verification or a recovery; edits need a checkpoint.
    #[test]
    fn sdk_20_no_sequence_of_events_skips_a_safeguard(
        events in prop::collection::vec(select(&LoopEvent::ALL[..]), 0..60),
    ) {
        let mut state = LoopState::Idle;
        let (mut checkpoint, mut edits, mut verified) = (false, false, false);
        for event in events {
            let Ok(next) = state.on(event) else { continue };
            match event {
                LoopEvent::CheckpointCreated => (checkpoint, edits, verified) = (true, false, false),
                LoopEvent::EditsStarted => {
                    prop_assert!(checkpoint);
                    edits = true;
                }
                LoopEvent::EditsApplied => prop_assert!(edits),
                LoopEvent::VerifyPassed => {
                    prop_assert!(checkpoint && edits);
                    verified = true;
                }
                LoopEvent::VerifyFailed => prop_assert!(edits && !verified),
                LoopEvent::RecoveryStarted => prop_assert!(checkpoint && edits && !verified),
                LoopEvent::RecoveryFinished => edits = false,
                LoopEvent::Finished => prop_assert!(verified || !edits),
            }
            if next == LoopState::Idle {
                prop_assert!(!edits || verified, "an unverified tree was left");
                checkpoint = false;
            }
            prop_assert_eq!(next.is_unverified(), edits && !verified);
            state = next;
        }
    }
}
