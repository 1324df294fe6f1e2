use super::*;
use proptest::prelude::*;

const PLUGINS: [AuthPlugin; 2] = [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password];

#[test]
fn the_native_hash_is_what_mysql_stores() {
    // SELECT PASSWORD('password') in MySQL 5.x and MariaDB.
    let verifier = Verifier::from_password(AuthPlugin::MysqlNativePassword, b"password");
    assert_eq!(verifier.to_stored(), b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
}

#[test]
fn scrambles_are_those_of_another_implementation() {
    // Computed from the definition by an independent implementation (Python's hashlib).
    let nonce = Nonce::received(*b"0123456789abcdefghij");
    let hex = |plugin| hexadecimal(&scramble(plugin, b"secret", &nonce)).to_lowercase();
    assert_eq!(hex(AuthPlugin::MysqlNativePassword), "f5cac3f3b3df2133feb57db682c71e6ed433a988");
    assert_eq!(
        hex(AuthPlugin::CachingSha2Password),
        "7e4adda2f2d5ef09b4147518becb0cee2939376203650a8c2bb2815959364bd0"
    );
}

#[test]
fn nonces_have_no_byte_that_ends_a_string() {
    for byte in 0..=255 {
        let nonce = Nonce::from_random([byte; NONCE_SIZE]);
        assert!(nonce.as_bytes().iter().all(|&byte| byte != 0 && byte != b'$' && byte < 0x80));
    }
}

#[test]
fn an_account_without_a_password_takes_only_the_empty_one() {
    let nonce = Nonce::from_random([1; NONCE_SIZE]);
    assert!(Verifier::Empty.verify_response(&nonce, b""));
    assert!(Verifier::Empty.verify_response(&nonce, b"\0"));
    assert!(!Verifier::Empty.verify_response(&nonce, b"x"));
    assert!(Verifier::Empty.verify_password(b""));
    for plugin in PLUGINS {
        assert!(!Verifier::from_password(plugin, b"x").verify_response(&nonce, b""));
        assert!(scramble(plugin, b"", &nonce).is_empty());
    }
}

/// Made by MySQL 8: `SELECT HEX(authentication_string)` of an account with this password.
const OF_MYSQL: (&[u8], &str) = (
    b"foobar",
    "24412430303524031A69251C34295C4B35167C7F1E5A7B63091349503974624D34504B5A424679354856336868686F52485A736E4A73\
     3368786E427575516C73446469496537",
);

fn bytes_of_hexadecimal(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn a_slow_hash_of_mysql_is_recognised() {
    let stored = bytes_of_hexadecimal(OF_MYSQL.1);
    let verifier = slow::SlowVerifier::from_bytes(&stored).unwrap();
    assert_eq!(verifier.to_bytes(), stored);
    let made = |password: &[u8]| verifier.hash(password).unwrap().run(u32::MAX).unwrap();
    assert!(made(OF_MYSQL.0).is_equal(&verifier));
    assert!(!made(b"Foobar").is_equal(&verifier));
    assert!(!made(b"").is_equal(&verifier));
}

#[test]
fn a_slow_hash_made_in_slices_is_the_same() {
    let salt = [200; slow::SALT_SIZE];
    let whole = slow::SlowHash::of_password(b"secret", salt).unwrap().run(u32::MAX).unwrap();
    let mut sliced = slow::SlowHash::of_password(b"secret", salt).unwrap();
    let mut slices = 0;
    let sliced = loop {
        slices += 1;
        if let Some(hash) = sliced.run(999) {
            break hash;
        }
    };
    assert_eq!((slices, sliced), (6, whole.clone()));
    assert_eq!(Verifier::from_stored(&whole.to_bytes()), Some(Verifier::Slow(whole)));
    assert!(slow::SlowHash::of_password(&[b'x'; slow::PASSWORD_SIZE_MAX + 1], salt).is_none());
}

#[test]
fn debug_shows_no_digest() {
    let verifier = Verifier::from_password(AuthPlugin::MysqlNativePassword, b"password");
    assert_eq!(format!("{verifier:?}"), "MysqlNativePassword(..)");
}

#[test]
fn a_decrypted_password_must_end_with_nul() {
    let nonce = Nonce::received([0x55; NONCE_SIZE]);
    let masked: Vec<u8> = b"a longer password than the nonce\0".iter().map(|byte| byte ^ 0x55).collect();
    assert_eq!(password_from_decrypted(&masked, &nonce).unwrap(), b"a longer password than the nonce");
    assert_eq!(password_from_decrypted(&masked[..5], &nonce), None);
    assert_eq!(password_from_decrypted(b"", &nonce), None);
}

proptest! {
    #[test]
    fn the_right_password_is_recognised_and_no_other(
        password in proptest::collection::vec(any::<u8>(), 1..40),
        other in proptest::collection::vec(any::<u8>(), 0..40),
        random: [u8; NONCE_SIZE],
        flipped in 0usize..160,
    ) {
        let nonce = Nonce::from_random(random);
        for plugin in PLUGINS {
            let verifier = Verifier::from_password(plugin, &password);
            let mut response = scramble(plugin, &password, &nonce);
            prop_assert!(verifier.verify_response(&nonce, &response));
            prop_assert!(verifier.verify_password(&password));
            prop_assert_eq!(verifier.plugin(), Some(plugin));
            prop_assert_eq!(Verifier::from_stored(&verifier.to_stored()), Some(verifier.clone()));
            prop_assert_eq!(verifier.verify_response(&nonce, &scramble(plugin, &other, &nonce)), other == password);
            response[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert!(!verifier.verify_response(&nonce, &response));
        }
    }

    #[test]
    fn any_response_and_any_stored_bytes_are_handled(response: Vec<u8>, stored: Vec<u8>) {
        let nonce = Nonce::from_random([9; NONCE_SIZE]);
        for plugin in PLUGINS {
            let _ = Verifier::from_password(plugin, b"x").verify_response(&nonce, &response);
        }
        let _ = Verifier::from_stored(&stored);
        let _ = Verifier::from_stored(&[b"$A$", &stored[..]].concat());
        let _ = password_from_decrypted(&response, &nonce);
    }
}
