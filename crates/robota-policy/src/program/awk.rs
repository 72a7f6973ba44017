//! The part of awk that only prints: fields, patterns, sums. No redirections, no pipes, no other
//! files, no loops that need not end.

use crate::shell::bomb;

/// Words that reach beyond the lines that are read.
const REACHING: &[&str] = &[
    "system",
    "getline",
    "close",
    "fflush",
    "ENVIRON",
    "PROCINFO",
    "ARGV",
    "ARGC",
    "ARGIND",
    "SYMTAB",
    "FUNCTAB",
    "while",
    "do",
    "function",
    "func",
    "BINMODE",
    "sprintf",
    "strftime",
    "extension",
    "gensub",
    "eval",
    "srand",
    "delete",
    "FILENAME",
    "switch",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    /// A number, a text or a regular expression.
    Value,
    Operator(&'a str),
    End,
}

/// Whether a program of this name takes programs in awk.
pub(super) fn speaks(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk")
}

/// Whether the program prints what it reads and does nothing else. Only simple programs are
/// recognised.
pub(crate) fn is_tame(program: &str) -> bool {
    let Some(tokens) = tokens(program) else { return false };
    let name = |token: &Token<'_>| matches!(token, Token::Name(_) | Token::Value);
    let mut printing = false;
    let mut assigning = false;
    let mut replacing = 0;
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1);
        match token {
            Token::Name(word) if REACHING.contains(word) => return false,
            Token::Name("print" | "printf") => printing = true,
            Token::Name("sub" | "gsub") => {
                replacing += 1;
                if replacing > 3 {
                    return false;
                }
            }
            // Only `for (key in list)`.
            Token::Name("for") => {
                let head: Vec<_> = tokens.iter().skip(i + 1).take(5).collect();
                if !matches!(
                    head.as_slice(),
                    [
                        Token::Operator("("),
                        Token::Name(_),
                        Token::Name("in"),
                        Token::Name(_),
                        Token::Operator(")")
                    ]
                ) {
                    return false;
                }
            }
            Token::Operator("{" | "}") | Token::End => {
                printing = false;
                assigning = false;
            }
            // `print > "file"`, `print | "program"`; elsewhere it compares.
            Token::Operator(">") if printing => return false,
            Token::Operator("|" | ">>" | "|&" | "@" | "\\") => return false,
            Token::Operator("=") => assigning = true,
            _ => {}
        }
        // Text that grows by itself fills the memory.
        if assigning
            && name(token)
            && next.is_some_and(|next| name(next) && *next != Token::Name("in"))
        {
            return false;
        }
    }
    true
}

fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    let bytes = program.as_bytes();
    let mut out: Vec<Token<'_>> = Vec::new();
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        let from = i;
        match byte {
            b' ' | b'\t' => i += 1,
            b'\n' | b';' => {
                out.push(Token::End);
                i += 1;
            }
            b'#' => i = program[i..].find('\n').map_or(bytes.len(), |end| i + end),
            b'"' => {
                i = closing(bytes, i + 1, b'"')?;
                // Widths of printf stand in texts.
                if !bomb::narrow(&program[from..i]) || program[from..i].contains('*') {
                    return None;
                }
                out.push(Token::Value);
            }
            b'/' => match slash(out.last())? {
                Slash::Division => {
                    out.push(Token::Operator("/"));
                    i += 1;
                }
                Slash::Regex => {
                    i = closing(bytes, i + 1, b'/')?;
                    // Inside brackets a slash may or may not end it.
                    let regex = &program[from..i];
                    if regex.matches('[').count() != regex.matches(']').count() {
                        return None;
                    }
                    out.push(Token::Value);
                }
            },
            b'0'..=b'9' => {
                while bytes.get(i).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.') {
                    i += 1;
                }
                out.push(Token::Value);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                while bytes.get(i).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                    i += 1;
                }
                out.push(Token::Name(&program[from..i]));
            }
            _ => {
                let two = program.get(i..i + 2).unwrap_or_default();
                let len = match two {
                    "&&" | "||" | "==" | "!=" | "<=" | ">=" | "++" | "--" | "+=" | "-=" | "*="
                    | "/=" | "%=" | ">>" | "|&" | "!~" => 2,
                    _ => 1,
                };
                if !byte.is_ascii_graphic() {
                    return None;
                }
                out.push(Token::Operator(program.get(i..i + len)?));
                i += len;
            }
        }
    }
    Some(out)
}

enum Slash {
    Division,
    Regex,
}

/// What a slash after this is; `None` where that depends on more than what stands before it.
fn slash(before: Option<&Token<'_>>) -> Option<Slash> {
    match before {
        None | Some(Token::End) => Some(Slash::Regex),
        Some(Token::Name("print" | "printf")) => Some(Slash::Regex),
        Some(Token::Name("else" | "return" | "in" | "exit" | "next" | "BEGIN" | "END")) => None,
        Some(Token::Name(_) | Token::Value) => Some(Slash::Division),
        Some(Token::Operator("]")) => Some(Slash::Division),
        Some(Token::Operator("(" | "{" | "}" | "," | "!" | "~" | "!~" | "&&" | "||" | "=")) => {
            Some(Slash::Regex)
        }
        Some(Token::Operator(_)) => None,
    }
}

/// The index after the closing delimiter.
fn closing(bytes: &[u8], from: usize, delimiter: u8) -> Option<usize> {
    let mut i = from;
    loop {
        match bytes.get(i)? {
            b'\\' => i += 2,
            b'\n' => return None,
            byte if *byte == delimiter => return Some(i + 1),
            _ => i += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_tame;

    #[test]
    fn programs_that_only_print_pass() {
        for program in [
            "{print $1}",
            "{ print $1, $NF }",
            "NR==5",
            "NR>=10 && NR<=20",
            "/fn /",
            "/TODO/ {print FILENAME_ORIG}",
            "!seen[$0]++",
            "{s+=$1} END {print s}",
            "{s+=$1} END {print s/NR}",
            "$3 > 100 {print $1}",
            "BEGIN {FS=\":\"} {print $1}",
            "{count[$1]++} END {for (k in count) print k, count[k]}",
            "{printf \"%-20s %s\\n\", $1, $2}",
            "length($0) > 80",
            "{gsub(/a/, \"b\"); print}",
            "NR%2",
            "1",
        ] {
            assert!(is_tame(program), "{program}");
        }
    }

    #[test]
    fn programs_that_reach_out_do_not() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print > \"out\"}",
            "{print $1 >> \"out\"}",
            "{print | \"sh\"}",
            "BEGIN{while((getline l < \"x\")>0) print l}",
            "BEGIN{\"id\" | getline x}",
            "@load \"x\"",
            "BEGIN{ARGV[1]=\"/etc/passwd\"; ARGC=2}",
            "BEGIN{print ENVIRON[\"KEY\"]}",
            "BEGIN{for(;;);}",
            "BEGIN{while(1);}",
            "{s = s s}",
            "BEGIN{printf \"%999999999d\", 1}",
            "{printf(\"x\") > \"out\"}",
            "BEGIN{f=\"sys\" \"tem\"}",
            "/[/\"]/ {system(\"id\")} /\"/",
            "{if (1) /\"/; system(\"id\"); /\"/}",
        ] {
            assert!(!is_tame(program), "{program}");
        }
    }
}
