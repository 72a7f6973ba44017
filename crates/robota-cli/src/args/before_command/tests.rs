use clap::Parser as _;

use super::*;

fn moved(line: &str) -> String {
    let arguments = line.split(' ').map(OsString::from).collect();
    let arguments = move_behind(arguments);
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
    arguments.join(" ")
}

#[test]
fn options_of_settings_before_a_command_apply_to_it() {
    for (line, expected) in [
        ("robota --settings f config list --json", "robota config list --settings f --json"),
        ("robota --cwd=d --trust doctor", "robota doctor --cwd=d --trust"),
        (
            "robota --allowed-tools=Read permissions check ls",
            "robota permissions check --allowed-tools=Read ls",
        ),
        ("robota --cwd d mcp add-json x -- y", "robota mcp add-json --cwd d x -- y"),
    ] {
        assert_eq!(moved(line), expected);
        Cli::try_parse_from(expected.split(' ')).unwrap();
    }
}

#[test]
fn other_arguments_stay_as_they_are() {
    for line in [
        "robota",
        "robota doctor",
        "robota --settings",
        "robota --settings config",
        "robota --settings f fix the test",
        "robota --settings f -p config",
        "robota --model m config list",
        // The values of this option could be folders with these names.
        "robota --add-dir lib config list",
    ] {
        assert_eq!(moved(line), line);
    }
}

#[test]
fn a_command_after_other_options_is_an_error() {
    let misplaced = |line: &str| {
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        misplaced(&cli.print).map(|usage| usage.to_string())
    };
    let found = misplaced("robota --model m config list").unwrap();
    assert!(found.starts_with("`config` is a command"), "{found}");
    assert!(found.contains("robota config list --help"), "{found}");
    assert!(misplaced("robota --model m doctor").is_some());
    for prompt in ["robota --model m trust me", "robota -p --model m doctor", "robota --model m"] {
        assert_eq!(misplaced(prompt), None, "{prompt}");
    }
}
