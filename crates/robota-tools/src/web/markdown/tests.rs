use super::*;

fn markdown(html: &str) -> String {
    to_markdown(html, &|| false).unwrap()
}

#[test]
fn structure_is_kept() {
    let cases = [
        ("<h2>A <i>b</i></h2><p>c<p>d", "## A _b_\n\nc\n\nd\n"),
        ("<p>a<b> bold </b>z <em></em><strong>x</strong></p>", "a **bold** z **x**\n"),
        ("x<br>y<hr>z", "x\ny\n\n---\n\nz\n"),
        (
            "<a href='/p?a=1&amp;b=2'>the <b>page</b></a> <a href='#x'>top</a>",
            "[the **page**](/p?a=1&b=2) top\n",
        ),
        (
            "<a href='javascript:x()'>run</a><img src=a.png alt='A picture'>",
            "run![A picture](a.png)\n",
        ),
        (
            "<ul><li>a<li>b<ol><li>c</li><li>d</li></ol></li><li>e</ul>f",
            "- a\n- b\n  1. c\n  2. d\n- e\n\nf\n",
        ),
        (
            "<pre><code>fn x() {\n\n    y\n}\n</code></pre>z",
            "```\nfn x() {\n\n    y\n}\n```\n\nz\n",
        ),
        ("<blockquote><p>a<p>b</blockquote>c <code>x</code>", "> a\n\n> b\n\nc `x`\n"),
        (
            "<table><tr><th>a<th>b<tr><td>1<td><p>2</table>z",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nz\n",
        ),
        (
            "<head><title>t</title><style>s</style></head><svg><title>q</title></svg>a<script>b</script>c",
            "ac\n",
        ),
        ("  a \n b&nbsp;&lt;c&gt; ", "a b <c>\n"),
        ("", ""),
    ];
    for (html, expected) in cases {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

/// Pages that make a converter slow: deep nesting, tags that are never closed or never opened, huge
/// tags, many attributes, comments and tables. Twice the size must not take more than twice the work.
#[test]
fn the_work_grows_with_the_size_of_the_page_only() {
    let units = [
        "<div></x>",
        "<div>",
        "</div>",
        "<b>",
        "<b><i>x",
        "<a href=x>",
        "<a href=\"",
        "<a b=c d=e ",
        "<a ",
        "<p class='",
        "<",
        "</",
        "<!--",
        "<!-- -",
        "<script>",
        "</script",
        "<script></scrip>",
        "<style><title>",
        "<table>x<b></b>",
        "<table><tr><td>",
        "<td>",
        "<tr>",
        "<li>x",
        "<ul><li>x",
        "<blockquote>\n<p>x",
        "<pre>\n",
        "<svg>",
        "<svg></p>",
        "<p></b></i></a>",
        "&",
        "&amp",
        "&#x",
        " \n",
        "<img alt='x' src='y'>",
        "<h1></h2>",
    ];
    let work = |unit: &str, count: usize| {
        let (text, work) = convert(&unit.repeat(count), &|| false).unwrap();
        (work, text.len())
    };
    for unit in units {
        let (small, _) = work(unit, 2_000);
        let (large, text) = work(unit, 4_000);
        assert!(large <= small * 2 + MAX_DEPTH * MAX_DEPTH, "{unit}: {small} steps, then {large}");
        // Each byte costs a fixed number of steps, and at most one search of the open elements.
        assert!(large <= 4_000 * (unit.len() * 8 + 2 * MAX_DEPTH), "{unit}: {large} steps");
        assert!(text <= 4_000 * (unit.len() + 16 + 2 * MAX_INDENT), "{unit}: {text} bytes");
    }
}

#[test]
fn the_conversion_can_be_cancelled() {
    let checks = std::cell::Cell::new(0);
    let cancelled = || {
        checks.set(checks.get() + 1);
        checks.get() > 3
    };
    assert_eq!(to_markdown(&"<p>x".repeat(100_000), &cancelled), None);
    assert_eq!(checks.get(), 4);
}
