use super::*;

fn tokens(html: &str) -> Vec<Token<'_>> {
    Tokens::new(html).collect()
}

fn start(name: &'static str, attributes: &[(&'static str, &'static str)]) -> Token<'static> {
    Token::Start { name: name.into(), attributes: attributes.to_vec() }
}

#[test]
fn tags_text_and_attributes_are_found() {
    assert_eq!(
        tokens("<!DOCTYPE html>a<P CLASS=x id=y Href='/a b' href=z>b</P >c<br/><!-- <i> -->d"),
        [
            Token::Text("a"),
            start("p", &[("class", "x"), ("href", "/a b")]),
            Token::Text("b"),
            Token::End("p".into()),
            Token::Text("c"),
            start("br", &[]),
            Token::Text("d"),
        ]
    );
    assert_eq!(tokens("1 < 2"), [Token::Text("1 "), Token::Text("<"), Token::Text(" 2")]);
    assert_eq!(
        tokens("<script>if (a </b) '<p>'</SCRIPT>x"),
        [
            start("script", &[]),
            Token::Text("if (a </b) '<p>'"),
            Token::End("script".into()),
            Token::Text("x"),
        ]
    );
}

#[test]
fn what_is_not_closed_ends_with_the_page() {
    assert_eq!(tokens("a<p href=\"x>b"), [Token::Text("a"), start("p", &[("href", "x>b")])]);
    assert_eq!(tokens("a<!-- b"), [Token::Text("a")]);
    assert_eq!(tokens("<style>b"), [start("style", &[]), Token::Text("b")]);
    assert_eq!(tokens("a</"), [Token::Text("a"), Token::End("".into())]);
    assert_eq!(tokens("<a ="), [start("a", &[])]);
}

#[test]
fn character_references_are_replaced() {
    assert_eq!(
        decode("a &amp; b &#228;&#xe4; &lt;p&gt; &unknown; & &#0; x"),
        "a & b ää <p> &unknown; & &#0; x"
    );
}
