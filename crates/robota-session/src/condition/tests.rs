use robota_policy::LexicalPaths;
use serde_json::json;

use super::*;

#[test]
fn core_22_a_hook_with_a_rule_runs_for_matching_calls() {
    let workspace = Workspace::new("/home/ada/app", "/home/ada");
    let condition = RuleCondition::new(workspace, Arc::new(LexicalPaths));
    let holds =
        |rule: &str, command: &str| condition.holds(rule, "Bash", &json!({ "command": command }));
    assert_eq!(holds("Bash(git push *)", "git push origin"), Some(true));
    assert_eq!(holds("Bash(git push *)", "make && sudo git push"), Some(true));
    assert_eq!(holds("Bash(git push *)", "git status"), Some(false));
    assert_eq!(holds("Edit", "git push"), Some(false));
    assert_eq!(holds("Bash(git", "git push"), None, "an invalid rule");
}
