//! Permission rules of single turns: those that deny calls are stored with their input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;

use common::*;
use robota_core::gate::Gate as _;
use robota_core::permission::Verdict;
use robota_policy::List;
use robota_session::{PolicyGate, Resume, SendOptions, TurnPermissions};
use robota_testkit::{Script, ScriptedAnswer};
use serde_json::json;

/// A session whose rules allow `make`, a model that runs it, and an input that denies it in its turn.
fn make_is_allowed() -> (Arc<PolicyGate>, SendOptions) {
    let gate = policy();
    gate.add_session_rule(List::Allow, "Bash(make *)").unwrap();
    let rules = TurnPermissions { deny: vec!["Bash(make *)".to_owned()], ..Default::default() };
    (gate, SendOptions { rules, ..SendOptions::default() })
}

#[test]
fn sdk_13_a_turn_that_is_continued_has_the_rules_that_deny_calls() {
    both_runtimes(async || {
        let make = json!({"command": "make all"});
        let script = Script::new()
            .tool("Bash", make.clone())
            .answer(ScriptedAnswer::new().text("Half").gate("never"))
            .tool("Bash", make.clone())
            .text("One.")
            .tool("Bash", make)
            .text("Two.");
        let (builder, model) = builder(script);
        let (bash, (gate, options)) = (bash(), make_is_allowed());
        let session = builder.tools(tool(bash.clone())).gate(gate).create(memory(), None);
        let session = session.await.unwrap();
        session.send_with("Build", options).await.unwrap();
        model.reached("never").await;
        session.interrupt(None).await.unwrap();
        session.recovery().continue_turn().await.unwrap();
        wait_until_idle(&session).await;
        assert!(bash.inputs().is_empty(), "denied in the turn, and when it is continued");
        session.run("Build again").await.unwrap();
        assert_eq!(bash.inputs().len(), 1, "not in the next one");
    });
}

#[test]
fn sdk_13_rules_that_deny_calls_are_stored_with_their_input() {
    both_runtimes(async || {
        let (first, model) = builder(Script::new().answer(ScriptedAnswer::new().gate("never")));
        let store = memory();
        let session = first.create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.send("Hi").await.unwrap();
        model.reached("never").await;
        let (gate, options) = make_is_allowed();
        let waiting = session.send_with("Build", options).await.unwrap();
        // Another text has the same rules.
        assert!(session.queue().change(&waiting, "Build it").await.unwrap());
        let store = crashed(&id, &journal(&*store, &id).await).await;
        let make = json!({"command": "make all"});
        let (second, _) = builder(Script::new().tool("Bash", make).text("Done."));
        let bash = bash();
        let resumed = second.tools(tool(bash.clone())).gate(gate);
        let resumed = resumed.resume(store.clone(), &id, Resume::default()).await.unwrap();
        wait_until_idle(&resumed).await;
        let denied = decided(&journal(&*store, &id).await);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert_eq!(denied[0].verdict, Verdict::Deny);
        assert!(bash.inputs().is_empty());
        session.shutdown("done").await.ok();
    });
}

#[test]
fn sdk_13_rules_are_added_to_a_turn_only_while_one_runs() {
    both_runtimes(async || {
        let (builder, model) =
            builder(Script::new().answer(ScriptedAnswer::new().gate("go").text("Hi.")));
        let (store, (gate, _)) = (memory(), make_is_allowed());
        let session = builder.gate(gate.clone()).create(store.clone(), None).await.unwrap();
        let rules = || TurnPermissions {
            allow: vec!["Bash(ls *)".to_owned()],
            deny: vec!["Bash(make *)".to_owned(), "Bash(".to_owned()],
        };
        let refused = session.permissions().add_turn_rules(rules()).await.unwrap();
        assert_eq!(refused.len(), 3, "no turn runs");
        // Also in a pause between two turns.
        let pause = session.queue().pause().await.unwrap();
        assert_eq!(session.permissions().add_turn_rules(rules()).await.unwrap().len(), 3);
        drop(pause);
        session.send("Hi").await.unwrap();
        model.reached("go").await;
        assert_eq!(session.permissions().add_turn_rules(rules()).await.unwrap(), ["Bash("]);
        assert_eq!(gate.restrictions().deny, ["Bash(make *)"]);
        model.release("go");
        wait_until_idle(&session).await;
        assert!(gate.restrictions().deny.is_empty());
        assert_eq!(count(&journal(&*store, session.id()).await, "turn_rules_added"), 1);
    });
}
