use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn request(files: &[&str], packages: &[&str], base: &str) -> VerificationRequest {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    VerificationRequest {
        changed_files: owned(files),
        package_scopes: owned(packages),
        base_ref: base.to_owned(),
    }
}

#[test]
fn sdk_20_the_steps_of_a_change_are_in_order() {
    let asked = request(&["b/x.rs", "./a.rs", "a.rs"], &["web", "core", "web"], "origin/main");
    let planned = plan(&asked, &Toolchain::cargo()).unwrap();
    let lines: Vec<String> = planned
        .steps
        .iter()
        .map(|step| {
            let kind = serde_json::to_value(&step.kind).unwrap();
            let command = step.command.as_deref().unwrap_or_default().join(" ");
            format!("{} {command}", kind["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        lines,
        [
            "checkpoint ",
            "edit ",
            "hand_over ",
            "test cargo test -p core",
            "check cargo clippy -p core --all-targets",
            "build cargo build -p core",
            "test cargo test -p web",
            "check cargo clippy -p web --all-targets",
            "build cargo build -p web",
            "verify cargo test --workspace",
            "rollback ",
        ]
    );
    let files = vec!["a.rs".to_owned(), "b/x.rs".to_owned()];
    assert_eq!(planned.steps[0].kind, StepKind::Checkpoint { files: files.clone() });
    assert_eq!(planned.steps[1].kind, StepKind::Edit { files });
    let last = planned.steps.last().unwrap();
    assert_eq!((&last.kind, last.runs), (&StepKind::Rollback, Runs::OnFailure));
    let pnpm = plan(&request(&["a"], &[], "origin/develop"), &Toolchain::pnpm()).unwrap();
    let verify = pnpm.steps[3].command.as_ref().unwrap().join(" ");
    assert_eq!(verify, "pnpm harness:verify -- --base-ref origin/develop");
}

#[test]
fn sdk_20_what_could_leave_the_repository_or_become_an_option_is_refused() {
    let cargo = Toolchain::cargo();
    assert_eq!(plan(&request(&[], &["core"], "main"), &cargo), Err(PlanError::NoFiles));
    for file in ["", ".", "/etc/passwd", "../x", "a/../../x", "a\0b"] {
        let result = plan(&request(&[file], &[], "main"), &cargo);
        assert_eq!(result, Err(PlanError::OutsideFile(file.to_owned())));
    }
    for name in ["", "-p", "--config=x", "a b", "a;b", "$(x)", "a\nb"] {
        let bad = Err(PlanError::BadName(name.to_owned()));
        assert_eq!(plan(&request(&["a"], &[name], "main"), &cargo), bad);
        assert_eq!(plan(&request(&["a"], &[], name), &cargo), bad);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sdk_20_a_plan_checkpoints_before_and_restores_after_everything(
        files in prop::collection::vec("[a-z]{1,3}(/[a-z]{1,3}){0,2}", 1..8),
        packages in prop::collection::vec("[a-z]{1,4}", 0..5),
        toolchain in select(vec![Toolchain::cargo(), Toolchain::pnpm()]),
    ) {
        let request = VerificationRequest {
            changed_files: files,
            package_scopes: packages.clone(),
            base_ref: "main".to_owned(),
        };
        let steps = plan(&request, &toolchain).unwrap().steps;
        let scopes: BTreeSet<_> = packages.into_iter().collect();
        prop_assert_eq!(steps.len(), 5 + 3 * scopes.len());
        let is_checkpoint = matches!(steps[0].kind, StepKind::Checkpoint { .. });
        prop_assert!(is_checkpoint);
        prop_assert_eq!(&steps[steps.len() - 1].kind, &StepKind::Rollback);
        prop_assert_eq!(&steps[steps.len() - 2].kind, &StepKind::Verify);
        // Commands run only after the hand-over, and the order of the request makes no difference.
        let first_command = steps.iter().position(|step| step.command.is_some());
        prop_assert_eq!(first_command, Some(3));
        let mut reversed = request;
        reversed.changed_files.reverse();
        reversed.package_scopes.reverse();
        prop_assert_eq!(plan(&reversed, &toolchain).unwrap().steps, steps);
    }
}
