use super::*;

#[test]
fn the_window_that_a_server_uses_is_found() {
    for (page, window) in [
        (json!({"default_generation_settings": {"n_ctx": 8192}}), Some(8192)),
        (
            json!({"parameters": "stop \"x\"\nnum_ctx        16384\ntemperature 1",
            "model_info": {"llama.context_length": 131_072}}),
            Some(16_384),
        ),
        (
            json!({"parameters": "stop x", "model_info": {"general.architecture": "llama",
            "llama.context_length": 131_072}}),
            Some(131_072),
        ),
        (json!({"data": [{"id": "m", "max_context_length": 4096}]}), Some(4096)),
        (json!({"data": [{"id": "other", "max_context_length": 4096}]}), None),
        (json!({}), None),
    ] {
        assert_eq!(window_in(&page, "m"), window, "{page}");
    }
}
