use super::*;
use proptest::prelude::*;

fn lex(text: &str) -> Vec<(TokenKind, &str)> {
    let mut lexer = Lexer::new(text, TextModes::default());
    let mut tokens = Vec::new();
    loop {
        match lexer.next_token() {
            Ok(token) if token.kind == TokenKind::End => return tokens,
            Ok(token) => tokens.push((token.kind, token.text(text))),
            Err(error) => {
                tokens.push((TokenKind::End, &text[error.offset..]));
                return tokens;
            }
        }
    }
}

fn texts(text: &str) -> String {
    lex(text).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("·")
}

#[test]
fn splits_as_mysql_does() {
    let table = [
        ("select 1", "select·1"),
        ("a<=>b<=c<>d!=e<<f>>g||h&&i:=j", "a·<=>·b·<=·c·<>·d·!=·e·<<·f·>>·g·||·h·&&·i·:=·j"),
        ("1-- \n2", "1·2"),
        ("1--2", "1·-·-·2"),
        ("1 # x\n+2", "1·+·2"),
        ("1/* x * / */2", "1·2"),
        ("/*!40101 set */ x /*!99999 no */ y", "set·x·y"),
        ("/*! a */b", "a·b"),
        ("'it''s' \"a\\\"b\" 'c\\\\'", "'it''s'·\"a\\\"b\"·'c\\\\'"),
        ("`a``b`.c", "`a``b`·.·c"),
        ("1.5 .5 1. 1e3 1.5e-3 1e 0x1f 0b101 0xzz 1abc", "1.5·.5·1.·1e3·1.5e-3·1e·0x1f·0b101·0xzz·1abc"),
        ("t.1a t.5", "t·.·1a·t·.·5"),
        ("x'1f' b'01' N'a' _utf8mb4'b'", "x'1f'·b'01'·N'a'·_utf8mb4·'b'"),
        ("@@global.a.b @@`x` @v @`v w` @'v'", "@@global.a.b·@@`x`·@v·@`v w`·@'v'"),
        ("a->'$.b' a->>'$'", "a·->·'$.b'·a·->>·'$'"),
        ("größe = 'é'", "größe·=·'é'"),
    ];
    for (text, expected) in table {
        assert_eq!(texts(text), expected, "{text}");
    }
}

#[test]
fn kinds_of_numbers() {
    let kinds: Vec<TokenKind> =
        lex("1 1.0 1e0 0x1 0b1 x'1' b'1' 1a").into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(
        kinds,
        [
            TokenKind::Integer,
            TokenKind::Decimal,
            TokenKind::Float,
            TokenKind::HexNumber,
            TokenKind::BitNumber,
            TokenKind::HexText,
            TokenKind::BitText,
            TokenKind::Word
        ]
    );
}

#[test]
fn what_never_ends_is_an_error_where_it_began() {
    for (text, offset) in [("a 'b", 2), ("a /* b", 2), ("`x", 0), ("'a\\'", 0), ("/*!40000 a", 0), ("@'x", 1)]
    {
        let mut lexer = Lexer::new(text, TextModes::default());
        let error = loop {
            match lexer.next_token() {
                Ok(token) if token.kind == TokenKind::End => panic!("{text} must not lex"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.offset, offset, "{text}");
    }
}

#[test]
fn values_of_literals() {
    assert_eq!(unquote("'a''b\\n\\%\\_\\x\"'", TextModes::default()), "a'b\n\\%\\_x\"");
    assert_eq!(unquote("`a``\\n`", TextModes::default()), "a`\\n");
    assert_eq!(unquote("''", TextModes::default()), "");
    assert_eq!(hex_bytes("1ff"), Some(vec![1, 0xff]));
    assert_eq!(hex_bytes("0g"), None);
    assert_eq!(bit_bytes("100000001"), Some(vec![1, 1]));
    assert_eq!(bit_bytes(""), Some(vec![]));
}

proptest! {
    #[test]
    fn is_total(text in "\\PC{0,60}") {
        let _ = lex(&text);
    }

    #[test]
    fn tokens_advance(text in "[a-z0-9'\"`@#/*!.\\\\ \n-]{0,40}") {
        let mut lexer = Lexer::new(&text, TextModes::default());
        let mut end = 0;
        while let Ok(token) = lexer.next_token() {
            prop_assert!(token.start >= end && text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
            if token.kind == TokenKind::End {
                break;
            }
            prop_assert!(token.end > token.start);
            end = token.end;
        }
    }
}

#[test]
fn names_get_other_quotes_and_texts_keep_theirs() {
    let shown = "CREATE TABLE `a\"b` (\n  `c``d` int COMMENT 'it''s `x`'\n)";
    assert_eq!(with_ansi_quotes(shown), "CREATE TABLE \"a\"\"b\" (\n  \"c`d\" int COMMENT 'it''s `x`'\n)");
}

#[test]
fn modes_say_what_quotes_and_backslashes_are() {
    let modes = TextModes { ansi_quotes: true, no_backslash_escapes: true, ..TextModes::default() };
    let kinds = |text: &str| {
        let mut lexer = Lexer::new(text, modes);
        std::iter::from_fn(|| lexer.next_token().ok().filter(|token| token.kind != TokenKind::End))
            .map(|token| (token.kind, token.text(text).to_owned()))
            .collect::<Vec<_>>()
    };
    let word = |text: &str| (TokenKind::QuotedWord, text.to_owned());
    assert_eq!(kinds("\"a\\\" '\\'"), [word("\"a\\\""), (TokenKind::Text, "'\\'".to_owned())]);
    assert_eq!(unquote("\"a\"\"\\n\"", modes), "a\"\\n");
    assert_eq!(unquote("'\\n'", modes), "\\n");
}
