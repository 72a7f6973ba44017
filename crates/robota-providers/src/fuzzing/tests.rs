//! A small fuzzer for machines without cargo-fuzz: the committed inputs, split and recombined.

use std::path::Path;

use proptest::prelude::*;

/// Returns the committed inputs of a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(folder).unwrap();
    let mut inputs: Vec<_> =
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    inputs
}

/// Generates concatenated pieces of inputs with a few bytes changed.
fn mutated(target: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let inputs = corpus(target);
    let piece =
        (0..inputs.len(), 0usize..2_000, 0usize..2_000).prop_map(move |(input, from, to)| {
            let input = &inputs[input];
            let (from, to) = (from.min(input.len()), to.min(input.len()));
            input[from.min(to)..from.max(to)].to_vec()
        });
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (prop::collection::vec(piece, 1..5), prop::collection::vec(change, 0..3)).prop_map(
        |(pieces, changes)| {
            let mut data = pieces.concat();
            for (at, byte) in changes {
                if !data.is_empty() {
                    let at = at.index(data.len());
                    data[at] = byte;
                }
            }
            data
        },
    )
}

macro_rules! targets {
    ($($name:ident from $corpus:literal;)*) => {
        proptest! {
            // `PROPTEST_CASES` overrides it.
            #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]
            $(
                #[test]
                fn $name(data in mutated($corpus)) {
                    super::$name(&data);
                }
            )*
        }

        #[test]
        fn every_committed_input_passes() {
            $(
                for input in corpus($corpus) {
                    super::$name(&input);
                }
            )*
        }
    };
}

targets! {
    anthropic from "wire_anthropic";
    chat from "wire_chat";
    responses from "wire_responses";
    gemini from "wire_gemini";
    text_calls from "text_calls";
    tool_schemas from "tool_schemas";
}
