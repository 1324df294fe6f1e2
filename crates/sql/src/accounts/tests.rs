use super::*;
use mysql_protocol::auth::slow::SlowHash;
use query::account_news::Digest;
use stdx::WallTime;
use types::AccountAttributes;

fn at(seconds: u64) -> Now {
    let start_s = 1_700_000_000;
    Now {
        monotonic: Instant(0) + Duration::from_secs(seconds),
        wall: WallTime((start_s + seconds) * 1_000_000),
    }
}

fn ann(change: impl FnOnce(&mut AccountAttributes)) -> User {
    let mut user = User::new("ann", "%");
    change(&mut user.attributes);
    user
}

#[test]
fn hashes_are_those_of_their_plugin() {
    let check = |plugin: &str, credential: Credential| {
        code(check_authentication(&Authentication { plugin: Some(plugin.to_owned()), credential }))
    };
    let native = || Credential::Stored(b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19".to_vec());
    assert_eq!(check("mysql_native_password", native()), 0);
    assert_eq!(check("caching_sha2_password", native()), 1827);
    assert_eq!(check("mysql_native_password", Credential::Stored(b"*24".to_vec())), 1827);
    assert_eq!(check("caching_sha2_password", Credential::Stored(b"stored".to_vec())), 1827);
    let slow = SlowHash::of_password(b"secret", [3; 20]).unwrap().run(u32::MAX).unwrap();
    assert_eq!(check("caching_sha2_password", Credential::Stored(slow.to_bytes())), 0);
    assert_eq!(check("caching_sha2_password", Credential::Stored(Vec::new())), 0);
    assert_eq!(check("sha256_password", Credential::None), 1524);
    let long = Credential::Password(catalogue::Secret("x".repeat(PASSWORD_SIZE_MAX + 1)));
    assert_eq!(check("caching_sha2_password", long), 1819);
}

fn code(result: Result<(), SqlError>) -> u16 {
    result.map_or_else(|error| error.code, |()| 0)
}

#[test]
fn a_digest_is_good_for_the_verifier_that_it_was_checked_against() {
    let mut book = AccountBook::default();
    let mut user = ann(|_| {});
    let stored = |password: &[u8]| SlowHash::of_password(password, [3; 20]).unwrap().run(u32::MAX).unwrap();
    user.verifier = stored(b"old").to_bytes();
    assert!(matches!(book.verifier(&user), Some(Verifier::Slow(_))));
    let news = AccountNews::PasswordSeen {
        account: name_of(&user),
        stored: user.verifier.clone(),
        digest: Digest([7; 32]),
    };
    assert!(!format!("{news:?}").contains("7, 7"));
    book.take(&news, at(0));
    assert_eq!(book.verifier(&user), Some(Verifier::CachingSha2Password([7; 32])));
    user.verifier = stored(b"new").to_bytes();
    assert!(matches!(book.verifier(&user), Some(Verifier::Slow(_))));
}

#[test]
fn limits_are_counted_for_an_hour() {
    let mut book = AccountBook::default();
    let user = ann(|attributes| {
        attributes.limits = ResourceLimits {
            queries_per_hour: 2,
            updates_per_hour: 1,
            connections_per_hour: 2,
            user_connections: 1,
        };
    });
    let account = name_of(&user);
    assert_eq!(code(book.check_connections(&user, 0, at(0))), 0);
    book.take(&AccountNews::Opened(account.clone()), at(0));
    let error = book.check_connections(&user, 0, at(0)).unwrap_err();
    assert_eq!(
        error.message,
        "User 'ann' has exceeded the 'max_user_connections' resource (current value: 1)"
    );
    assert_eq!((error.code, error.sqlstate()), (1226, "42000"));
    book.take(&AccountNews::Closed(account.clone()), at(1));
    book.take(&AccountNews::Opened(account.clone()), at(1));
    book.take(&AccountNews::Closed(account.clone()), at(1));
    assert_eq!(code(book.check_connections(&user, 0, at(2))), 1226);
    assert_eq!(code(book.check_connections(&user, 0, at(3_601))), 0);

    let limits = user.attributes.limits;
    let mut check = |updates, now: Now| {
        let demand = Demand { queries: 1, updates };
        let result = code(book.check_statements(&account, limits, demand, now));
        if result == 0 {
            let news = AccountNews::Statements { account: account.clone(), queries: 1, updates };
            book.take(&news, now);
        }
        result
    };
    assert_eq!([check(1, at(3_700)), check(1, at(3_700)), check(0, at(3_700))], [0, 1226, 0]);
    assert_eq!([check(0, at(3_700)), check(0, at(7_300))], [1226, 0]);
    check(0, at(7_300));
    assert_eq!(check(0, at(7_300)), 1226);
    // Other limits begin anew.
    let other = ResourceLimits { queries_per_hour: 1, ..limits };
    let demand = Demand { queries: 1, updates: 0 };
    assert_eq!(code(book.check_statements(&account, other, demand, at(7_300))), 0);
}

#[test]
fn the_limit_for_everybody_is_1203() {
    let mut book = AccountBook::default();
    let user = ann(|_| {});
    book.take(&AccountNews::Opened(name_of(&user)), at(0));
    assert_eq!(code(book.check_connections(&user, 2, at(0))), 0);
    assert_eq!(code(book.check_connections(&user, 1, at(0))), 1203);
}

#[test]
fn wrong_passwords_lock_an_account_for_days() {
    let mut book = AccountBook::default();
    let mut user = ann(|attributes| {
        (attributes.failed_login_attempts, attributes.password_lock_time) = (2, PasswordLockTime::Days(3));
    });
    let wrong = |book: &mut AccountBook, user: &User, now| {
        let is_first = book.is_lock_over(user, now);
        let (account, resets) = (name_of(user), user.attributes.login_resets);
        book.take(&AccountNews::WrongPassword { account, resets, is_first }, now);
        book.check_lock(user, "ann", "host", now).map_err(|error| error.message)
    };
    assert_eq!(wrong(&mut book, &user, at(0)), Ok(()));
    book.take(&AccountNews::RightPassword(name_of(&user)), at(0));
    assert_eq!(wrong(&mut book, &user, at(0)), Ok(()));
    let message = |rest| {
        format!(
            "Access denied for user 'ann'@'host'. Account is blocked for 3 day(s) ({rest} day(s) remaining) due to 2 \
             consecutive failed logins."
        )
    };
    assert_eq!(wrong(&mut book, &user, at(0)), Err(message(3)));
    assert_eq!(code(book.check_lock(&user, "ann", "host", at(DAY_S + 1))), 3955);
    assert_eq!(code(book.check_lock(&user, "ann", "host", at(3 * DAY_S))), 0);
    // The count begins anew when the time is over,
    assert_eq!(wrong(&mut book, &user, at(3 * DAY_S)), Ok(()));
    assert_eq!(wrong(&mut book, &user, at(3 * DAY_S)), Err(message(3)));
    // and when somebody unlocks the account.
    user.attributes.login_resets += 1;
    assert_eq!(wrong(&mut book, &user, at(3 * DAY_S)), Ok(()));
    user.attributes.password_lock_time = PasswordLockTime::Unbounded;
    let error = wrong(&mut book, &user, at(3 * DAY_S)).unwrap_err();
    assert!(error.contains("blocked for unlimited day(s) (unlimited day(s) remaining)"), "{error}");
    assert_eq!(code(book.check_lock(&user, "ann", "host", at(9_999 * DAY_S))), 3955);
}

#[test]
fn passwords_expire() {
    let check = |lifetime, default, expected| {
        let user = ann(|attributes| {
            (attributes.password_lifetime, attributes.password_changed_s) = (lifetime, 1_700_000_000);
        });
        assert_eq!(is_password_expired(&user, default, at(2 * DAY_S)), expected, "{lifetime:?} {default}");
    };
    check(PasswordLifetime::Default, 0, false);
    check(PasswordLifetime::Default, 2, true);
    check(PasswordLifetime::Default, 3, false);
    check(PasswordLifetime::Never, 1, false);
    check(PasswordLifetime::Days(2), 0, true);
    check(PasswordLifetime::Days(3), 1, false);
    assert!(is_password_expired(&ann(|attributes| attributes.is_password_expired = true), 0, at(0)));
}

#[test]
fn a_pair_that_was_refused_waits_and_no_other_does() {
    let mut guessing = Guessing::default();
    let patience = Duration::from_secs(10);
    let now = at(100).monotonic;
    for _ in 0..3 {
        assert_eq!(guessing.admit("h", "root", patience, now), Admission::Now);
        guessing.refused("h", "root", true, now);
    }
    assert_eq!(guessing.admit("h", "root", patience, now), Admission::Now);
    let after = |ms| Admission::At(now + Duration::from_millis(ms));
    // One after the other, however many come at once.
    assert_eq!(guessing.admit("h", "root", patience, now), after(250));
    assert_eq!(guessing.admit("h", "root", patience, now), after(500));
    guessing.refused("h", "root", true, now);
    assert_eq!(guessing.admit("h", "root", patience, now), after(750));
    assert_eq!(guessing.admit("h", "root", patience, now), after(1_250));
    for _ in 0..9 {
        guessing.refused("h", "root", true, now);
    }
    assert_eq!(guessing.admit("h", "root", patience, now), after(1_750));
    assert_eq!(guessing.admit("h", "root", patience, now), after(9_750));
    assert_eq!(guessing.admit("h", "root", patience, now), Admission::Refused);
    for (host, user) in [("h", "ann"), ("other", "root")] {
        assert_eq!(guessing.admit(host, user, patience, now), Admission::Now);
    }
    let later = now + Duration::from_secs(600);
    assert_eq!(guessing.admit("h", "root", patience, later), Admission::Now);
    assert!(!guessing.remembers("h", "root"));
}

#[test]
fn the_table_of_pairs_is_bounded_and_forgets_the_oldest() {
    let mut guessing = Guessing::default();
    for number in 0..5_000 {
        guessing.refused(&format!("h{number}"), "root", true, at(number).monotonic);
    }
    assert!(!guessing.remembers("h0", "root"));
    assert!(guessing.remembers("h4999", "root"));
    assert!(guessing.remembers("h904", "root") && !guessing.remembers("h903", "root"));
}

#[test]
fn there_is_a_line_per_host_and_minute() {
    let mut guessing = Guessing::default();
    let mut refuse = |host: &str, user: &str, seconds| {
        let now = at(seconds).monotonic;
        let line = guessing.log_line(host, user, now);
        guessing.refused(host, user, line.is_some(), now);
        line
    };
    assert_eq!(refuse("h", "ro\not", 0).unwrap(), "a login from h as 'ro\\not' was refused");
    assert_eq!(refuse("h", "root", 1), None);
    assert_eq!(refuse("h", "ann", 59), None);
    assert!(refuse("g", "ann", 59).is_some());
    assert_eq!(
        refuse("h", "ann", 60).unwrap(),
        "3 logins from h were refused since the last line about it, now as 'ann'"
    );
    assert_eq!(refuse("h", "ann", 61), None);
}

#[test]
fn there_is_a_decoy() {
    assert!(decoy().is_some());
}
