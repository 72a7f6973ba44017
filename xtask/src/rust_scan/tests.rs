use super::*;

#[test]
fn modules_are_found_with_their_surroundings() {
    let found = scan(
        r#"
        mod plain;
        pub(crate) mod shown;
        // mod commented;
        mod inline { mod deep; fn f() {} }
        #[cfg(test)]
        #[path = "odd name.rs"]
        mod odd;
        "#,
    );
    let seen: Vec<_> = found
        .mods
        .iter()
        .map(|module| (module.name.as_str(), module.inside.join("::"), module.path.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("plain", String::new(), None),
            ("shown", String::new(), None),
            ("deep", "inline".to_owned(), None),
            ("odd", String::new(), Some("odd name.rs")),
        ]
    );
}

#[test]
fn tests_are_recognised_by_their_attribute() {
    let found = scan(
        r#"
        #[test]
        fn plain() { fn helper() {} }
        #[tokio::test(start_paused = true)]
        #[ignore = "why"]
        async fn with_runtime() {}
        proptest! {
            #![proptest_config(cases(4))]
            #[test]
            fn property(x in 0..3, y in [1; 2]) { check(x) }
        }
        #[cfg(test)]
        fn only_a_helper() {}
        fn outer() { #[test] fn never_runs() {} }
        mod inner { #[test] fn deep() {} }
        "#,
    );
    let tests: Vec<_> = found
        .funcs
        .iter()
        .filter(|func| func.is_test())
        .map(|func| (func.name.as_str(), func.line, func.is_ignored(), func.inside.len()))
        .collect();
    assert_eq!(
        tests,
        [
            ("plain", 3, false, 0),
            ("with_runtime", 6, true, 0),
            ("property", 10, false, 0),
            ("deep", 15, false, 1)
        ]
    );
}

#[test]
fn methods_belong_to_the_type_of_an_inherent_impl() {
    let found = scan(
        r#"
        impl<T: Into<Vec<u8>>> crate::path::Holder<T> where T: Clone {
            pub fn one(&self) -> impl Iterator<Item = [u8; 2]> { let x = || { 1 }; once(x) }
            pub(crate) fn hidden() {}
            fn private() {}
            pub const fn two() {}
            pub async unsafe fn three() {}
        }
        impl<'a, F: for<'b> Fn(&'b u8) -> u8> Other<'a, F> { pub fn four() {} }
        impl Trait for Holder<u8> { fn five() {} }
        unsafe impl<T> Send for Holder<T> {}
        pub fn free() -> impl Fn(u8) -> u8 { |x| x }
        trait Port { fn required(&self); fn provided(&self) {} }
        "#,
    );
    let public: Vec<_> = found
        .funcs
        .iter()
        .filter(|func| func.public)
        .map(|func| (func.owner.as_deref(), func.name.as_str()))
        .collect();
    assert_eq!(
        public,
        [
            (Some("Holder"), "one"),
            (Some("Holder"), "two"),
            (Some("Holder"), "three"),
            (Some("Other"), "four"),
            (None, "free"),
        ]
    );
}

#[test]
fn any_text_is_survived() {
    for text in
        ["", "}", "#[", "mod", "fn", "impl", "impl {", "\"", "'", "r#\"", "/*", "#[x", "]])"]
    {
        assert_eq!(scan(text), Scan::default(), "{text:?}");
    }
}
