use super::{Challenges, Token, hmac, to_hex};

#[test]
fn hmac_is_that_of_the_rfc() {
    // RFC 4231 has no key of 32 bytes; zeros behind a key change nothing, so its second case is the same with them.
    let mut key = [0; 32];
    key[..4].copy_from_slice(b"Jefe");
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(to_hex(&hmac(&key, b"what do ya want ", b"for nothing?")), expected);
}

#[test]
fn who_knows_the_token_can_answer() {
    let (token, other) = (Token::new([7; 32]), Token::new([8; 32]));
    let mut challenges = Challenges::new([1; 32]);
    let challenge = challenges.next();
    let answer = token.answer(&challenge.text()).unwrap();
    assert!(challenge.accepts(&answer, &token));
    // An answer that was right once is not right again.
    assert!(!challenges.next().accepts(&answer, &token));
    let challenge = challenges.next();
    let answer = other.answer(&challenge.text()).unwrap();
    assert!(!challenge.accepts(&answer, &token));
    for garbage in ["", "00", &"0".repeat(64), &"g".repeat(64), &"é".repeat(32)] {
        assert!(!challenges.next().accepts(garbage, &token), "{garbage}");
    }
    assert_eq!(token.answer("no challenge"), None);
}

#[test]
fn a_token_file_can_be_read_and_debug_output_tells_nothing() {
    let token = Token::new([0xa5; 32]);
    assert_eq!(Token::parse(&format!("{}\n", token.line())), Some(token.clone()));
    assert_eq!(Token::parse(&token.line()[1..]), None);
    assert!(!format!("{token:?}").contains("a5a5"));
    assert_ne!(token.id(), Token::new([0xa4; 32]).id());
}
