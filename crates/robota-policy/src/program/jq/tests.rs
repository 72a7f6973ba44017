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

/// A number alone is no bound: what is inside of a `range` runs for each of its numbers.
#[test]
fn counts_that_multiply_do_not_pass() {
    for filter in [
        "range(1000000) | range(1000000)",
        "[range(1000000) as $a | range(1000000) as $b | $a + $b]",
        "range(2000) | range(2000)",
        "def f: range(1000); f | f | f | f",
        "[1] | reduce range(60) as $i (.; . + .)",
        "foreach range(60) as $i (\"x\"; . + .)",
        "range(pow(10; 12))",
        "range(50 | exp)",
        "range(now)",
        "range(\"1000000000000\" | tonumber)",
        "range(\"1000000000000\" | fromjson)",
    ] {
        assert!(!is_harmless(filter), "{filter}");
    }
    for filter in [
        "range(1000000)",
        "[range(10) as $a | range(10) as $b | [$a, $b]]",
        "[range(0; length)]",
        "range(0; 100; 10) | range(5)",
        "reduce .[] as $x (0; . + $x) | tonumber",
        "now | todate",
        "def f: .a; f | f",
    ] {
        assert!(is_harmless(filter), "{filter}");
    }
}
