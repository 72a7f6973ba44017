use super::{FAMILIES, INDEX, Program, Shape, read};

#[test]
fn every_entry_is_read_and_no_name_occurs_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for entry in FAMILIES.iter().flat_map(|family| read::entries(family)) {
        for name in read::names(entry) {
            assert!(seen.insert(name), "{name} is listed twice");
        }
        let program = read::program(entry);
        assert!(program.shape == Shape::Sub || program.subs.is_empty(), "{:?}", program.names);
    }
    assert_eq!(seen.len(), INDEX.len());
    assert!(Program::find("git").is_some());
}

fn args(command: &str) -> super::args::Args {
    let words: Vec<_> = command.split(' ').map(crate::shell::Word::parse).collect();
    super::args::Args::parse(&words).unwrap()
}

#[test]
fn values_in_the_same_word_are_not_taken_from_the_next() {
    let names = |command: &str| {
        let args = args(command);
        let options: Vec<String> = args.all().map(|given| given.name.clone()).collect();
        (options, args.operands.len(), args.is_clear())
    };
    let is = |options: &[&str], operands, clear| {
        (options.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), operands, clear)
    };
    assert_eq!(names("git log -M --output=x"), is(&["-M", "--output"], 0, true));
    assert_eq!(names("uniq --group a b"), is(&["--group"], 2, true));
    assert_eq!(names("od -w /etc/passwd"), is(&["-w"], 1, true));
    assert_eq!(names("od -w16 a"), is(&["-w"], 1, true));
    assert_eq!(names("head -n 5 a"), is(&["-n"], 1, true));
    assert_eq!(names("head -qn5 a"), is(&["-q", "-n"], 1, true));
    assert_eq!(names("sort --outp=x a"), is(&["--output"], 1, true));
    assert_eq!(names("sort --re a"), is(&["--reverse"], 1, true));
    assert!(!names("ls --s a").2, "several options begin like this");
    assert!(!names("ls --unheard-of a").2);
    assert_eq!(names("cat -- -n"), is(&[], 1, true));
    assert_eq!(names("'ca't \"-n\" a"), is(&["-n"], 1, true));
    assert_eq!(names("uniq {a,b}"), is(&[], 2, true));
    assert!(!names("cat $X").2, "a variable may be an option");
    assert_eq!(names("timeout 5 ls -la").1, 3, "the options are those of the command");
}
