use proptest::prelude::*;

use super::*;

#[test]
fn sdk_18_secrets_are_refused() {
    for text in [
        "password = hunter22",
        "The password is hunter2.",
        "my password is: hunter2secret",
        "passwd: s3cret!",
        "db_password=correct-horse",
        "use DATABASE_TOKEN: abcdefgh",
        "dbPassword: 'opensesame'",
        "the API key is `abcdefgh`",
        "api_key => 12345678",
        "my pin is 4711",
        "PIN: 4711",
        "비밀번호는 hunter2",
        "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE is the one",
        "Authorization: Bearer abcdef0123456789",
        "postgres://app:hunter2@db.internal/app",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abc",
        "https://hooks.slack.com/services/T0/B0/xyz",
        "call it with Xk92LmQ7pRt4Vz81NbW3cYd6",
        "pass\u{200b}word=hunter22",
        "ｐａｓｓｗｏｒｄ＝ｈｕｎｔｅｒ２２",
    ] {
        assert_eq!(check(text), Err(Refusal::Secret), "{text}");
    }
    for prefix in ["sk-", "sk-ant-", "sk_live_", "rk_test_", "hf_", "npm_", "glpat-", "xoxb-"] {
        let text = format!("deploy with {prefix}{}", "abcdef".repeat(4));
        assert_eq!(check(&text), Err(Refusal::Secret), "{text}");
    }
}

#[test]
fn sdk_18_card_and_account_numbers_are_refused() {
    for text in [
        "4111111111111111",
        "card 4111 1111 1111 1111 please",
        "card 4111-1111-1111-1111",
        "5500000000000004",
        "340000000000009",
        "3530111333300000",
        "6011.0000.0000.0004",
        "2223000048400011",
        "４１１１ １１１１ １１１１ １１１１",
        "pay 12 4111 1111 1111 1111",
        "DE89370400440532013000",
        "GB82 WEST 1234 5698 7654 32",
    ] {
        assert_eq!(check(text), Err(Refusal::PaymentNumber), "{text}");
    }
}

#[test]
fn sdk_18_numbers_of_persons_are_refused() {
    for text in [
        "SSN 123-45-6789",
        "123-45-6789",
        "his social security number: 123456789",
        "900101-1234567",
        "passport no. C01X00T47 or 12345678",
        "529.982.247-25",
        "Aadhaar 2345 6789 0123",
        "AB 12 34 56 C",
        "11010519491231002X",
        "12345678Z",
        "주민등록번호 900101 1234567",
    ] {
        assert_eq!(check(text), Err(Refusal::PersonalId), "{text}");
    }
}

#[test]
fn sdk_18_ordinary_facts_are_not_refused() {
    for text in [
        "Run the tests with `just test`.",
        "The token is refreshed every hour.",
        "Passwords are hashed with argon2.",
        "pass 2 of the compiler folds constants",
        "mapping: strict",
        "The commit 3f786850e387550fdab836ed7e6dc881de23001b broke it.",
        "Request 550e8400-e29b-41d4-a716-446655440000 failed.",
        "Use Rust 1.95.0, released 2026-11-16.",
        "Port 8080, timeout 30000 ms, 1,000,000 rows.",
        "The ticket is ROBOTA-12345.",
        "Docs: https://example.com/guide/getting-started?x=1",
        "Call +1 555 0100 for support.",
        "4111111111111112 is not a card",
        "The class InteractiveSessionBuilderFactory is deprecated.",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sdk_18_a_card_number_is_found_wherever_it_is(
        before in "[a-z ]{0,20}", after in "[a-z ]{0,20}", body in "[0-9]{14}", mark in "[ -]?",
    ) {
        let digits: Vec<u32> = format!("4{body}").chars().filter_map(|c| c.to_digit(10)).collect();
        let sum: u32 = digits.iter().rev().enumerate().map(|(at, digit)| {
            let double = digit * 2;
            if at % 2 == 0 { double / 10 + double % 10 } else { *digit }
        }).sum();
        let check_digit = (10 - sum % 10) % 10;
        let number = format!("4{body}{check_digit}");
        let parts: Vec<_> = (0..4).map(|at| &number[at * 4..at * 4 + 4]).collect();
        let text = format!("{before} {} {after}", parts.join(&mark));
        prop_assert!(check(&text).is_err(), "{}", text);
    }

    #[test]
    fn sdk_18_any_text_can_be_checked(text in ".{0,300}") {
        let _ = check(&text);
    }
}
