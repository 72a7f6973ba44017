use clap::Parser as _;

use super::take;
use crate::args::Cli;

fn taken(words: &[&str]) -> Result<String, String> {
    let words = ["robota"].iter().chain(words);
    let mut args = Cli::try_parse_from(words).unwrap().print;
    let prompt = take(&mut args).map_err(|error| error.to_string())?;
    assert!(args.words.is_empty());
    Ok(prompt)
}

#[test]
fn words_are_the_first_prompt() {
    for (words, prompt) in [
        (&["hello"][..], "hello"),
        (&["fix the test"], "fix the test"),
        (&["fix", "the", "test"], "fix the test"),
        (&["Mach"], "Mach"),
        (&["hi"], "hi"),
        (&["weiter"], "weiter"),
        (&[], ""),
    ] {
        assert_eq!(taken(words), Ok(prompt.to_owned()), "{words:?}");
    }
}

#[test]
fn a_command_with_a_typing_error_is_not_a_prompt() {
    for (word, name) in [
        ("sesions", "sessions"),
        ("session", "sessions"),
        ("modles", "models"),
        ("doctr", "doctor"),
        ("demos", "demo"),
        ("confog", "config"),
        ("perm", "permissions"),
    ] {
        let error = taken(&[word]).unwrap_err();
        assert!(error.contains(&format!("similar: robota {name}.")), "{error}");
    }
}
