use super::is_harmless;

#[test]
fn filters_that_compute_pass() {
    for filter in [
        ".",
        ".a",
        ".a.b[0]",
        ".[] | .name",
        "keys",
        "map(.x) | add",
        ".. | .env? // empty",
        "[.[] | select(.a > 1)]",
        "to_entries | map(.key)",
        "limit(5; .[])",
        ".env",
        "def f: .a; f",
        "def f(x): x | .a; map(f(.b))",
        ".a == $x",
        "\"\\(.a): \\(.b)\"",
        "@csv",
        "{name, env: .e}",
        ".a * 100",
        "reduce .[] as $x (0; . + $x)",
        "range(10)",
        "length",
        "if .a then 1 else 2 end",
        ".size > 1000000000",
        "group_by(.k) | map({k: .[0].k})",
        "with_entries(select(.value != null))",
        "paths(scalars) | join(\".\")",
        "input_line_number",
        "first(.[] | select(.id == 3))",
        "sort_by(.a) | reverse | .[0:5]",
        "recurse | .x?",
    ] {
        assert!(is_harmless(filter), "{filter}");
    }
}

#[test]
fn filters_that_reach_out_do_not() {
    for filter in [
        "env",
        "$ENV",
        "env.PATH",
        "$ENV.KEY",
        "import \"a\" as a; .",
        "include \"x\"; .",
        "\"\\(env)\"",
        "repeat(.)",
        "while(true; .)",
        "until(false; .)",
        "recurse(.)",
        "\"x\" * 1000000000",
        "[range(1e9)]",
        ".[1000000000] = 1",
        "def f: f; f",
        "get_search_list",
        "modulemeta",
        "input_filename | env",
        "a::b",
        "range(infinite)",
        "def f: env; f",
        "$__prog_args",
        "# x\nenv",
        "combinations",
        "\"x\" * 1000 * 1000 * 1000",
        "getpath([\"a\"]) | halt_error",
        "\"\\(\"\\(env)\")\"",
        "def keys: keys; keys",
    ] {
        assert!(!is_harmless(filter), "{filter}");
    }
}
