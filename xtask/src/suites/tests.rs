use super::outcomes::{Outcomes, of_go_test, of_pytest, of_unittest};
use super::{CHECKS, SUITES, listed, one_line};
use std::collections::BTreeSet;

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_output_of_go_test() {
    let output = "=== RUN   TestA\n--- PASS: TestA (0.01s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)
    --- PASS: TestB/default (0.00s)\n    --- FAIL: TestB/compress#01 (0.00s)\n--- SKIP: TestC (0.00s)\n--- FAIL: TestD (0.00s)
panic: test timed out after 40s\n\trunning tests:\n\t\tTestE/default (33s)\n\ngoroutine 12998 [running]:\nFAIL\tpackage\t40.069s\n";
    let outcomes = of_go_test(output);
    let failed = names(&["TestB/compress#01", "TestD", "TestE/default"]);
    let expected =
        Outcomes { passed: names(&["TestA", "TestB/default"]), failed, skipped: names(&["TestC"]) };
    assert_eq!(outcomes, expected);
}

#[test]
fn the_output_of_pytest() {
    let output = "FAILED is a word of a traceback\nPASSED a/b.py::T::test_a\nPASSED a/b.py::T::test_b\nERROR a/b.py::T::test_b - x
FAILED a/b.py::T::test_c - As...\nXFAIL a/b.py::T::test_d - reason\nSKIPPED [1] a/b.py:357: no plugin\n3 failed, 1 passed in 1 s";
    let failed = names(&["a/b.py::T::test_b", "a/b.py::T::test_c"]);
    let passed = names(&["a/b.py::T::test_a"]);
    assert_eq!(of_pytest(output), Outcomes { passed, failed, skipped: names(&["a/b.py::T::test_d"]) });
}

#[test]
fn the_output_of_unittest() {
    let output = "test_a (m.tests.T.test_a) ... ok\ntest_b (m.tests.T.test_b)\nWhat it is for. ... FAIL\n\
                  test_c (m.tests.T.test_c)\nIts purpose (told). ... skipped 'no'\ntest_d (m.tests.T.test_d) ... \n  \
                  test_d (m.tests.T.test_d) (part='x y') ... ERROR\ntest_e (m.tests.T.test_e) ... expected failure\n\
                  ======\nFAIL: test_b (m.tests.T.test_b)\nTraceback: no test\n\
                  ERROR: test_d (m.tests.T.test_d) (part='x y')\nRan 5 tests in 1s\nFAILED (failures=1)\n";
    let failed = names(&["m.tests.T.test_b", "m.tests.T.test_d"]);
    let skipped = names(&["m.tests.T.test_c", "m.tests.T.test_e"]);
    assert_eq!(of_unittest(output), Outcomes { passed: names(&["m.tests.T.test_a"]), failed, skipped });
}

#[test]
fn what_is_not_as_listed_is_named() {
    let list = "# a comment\nTestOld/default LOAD DATA\nTestGone   procedures\nTestKnown JSON\n\
                TestSkipped storage engines\nTestLuck which transaction a deadlock ends\n";
    let listed = listed(list).expect("the list is well-formed");
    let outcomes = Outcomes {
        passed: names(&["TestLuck", "TestOld/default"]),
        failed: names(&["TestKnown", "TestNew"]),
        skipped: names(&["TestSkipped"]),
    };
    assert_eq!(
        outcomes.unlike(&listed),
        [
            "TestNew fails, and is not listed",
            "TestGone is not there, and is listed as failing for procedures",
            "TestOld/default passes, and is listed as failing for LOAD DATA",
            "TestSkipped is skipped, and is listed as failing for storage engines",
        ]
    );
}

#[test]
fn a_list_gives_a_known_reason_for_each_test_once() {
    assert!(listed("TestA").is_err_and(|error| error.contains("gives no reason")));
    assert!(listed("TestA it was late").is_err_and(|error| error.contains("the reasons are procedures")));
    assert!(listed("TestA JSON\nTestA JSON").is_err_and(|error| error.contains("twice")));
}

#[test]
fn what_can_not_be_fetched_is_one_line() {
    let text = "X==1 can't be fetched: pip: exit status: 1\nWARNING: Retrying\n\nERROR: No matching distribution found for X==1\n";
    assert_eq!(
        one_line(text),
        "X==1 can't be fetched: pip: exit status: 1: ERROR: No matching distribution found for X==1"
    );
}

#[test]
fn suites_have_names_of_their_own() {
    let names = SUITES.iter().map(|suite| suite.name).chain(CHECKS.iter().map(|check| check.0));
    let distinct: BTreeSet<&str> = names.collect();
    assert_eq!(distinct.len(), SUITES.len() + CHECKS.len());
}
