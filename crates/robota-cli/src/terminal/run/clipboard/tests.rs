use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Returns an environment whose only clipboard program is this script.
fn environment(folder: &Path, program: &str, script: &str) -> Environment {
    let file = folder.join(program);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    Environment::new().with("PATH", folder).with("WAYLAND_DISPLAY", "wayland-0")
}

#[tokio::test]
async fn the_image_of_the_clipboard_is_read_by_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "[ \"$*\" = '--no-newline --type image/png' ] && printf '\\211PNG\\r\\n\\032\\nrest'";
    let environment = environment(folder.path(), "wl-paste", script);
    let bytes = image(&environment, folder.path()).await.unwrap();
    assert_eq!(bytes, b"\x89PNG\r\n\x1a\nrest");
}

#[tokio::test]
async fn a_clipboard_without_an_image_and_a_system_without_a_program_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path(), "wl-paste", "echo 'some text'");
    let why = image(&environment, folder.path()).await.unwrap_err();
    assert_eq!(why, "the clipboard has no image");
    let nothing = Environment::new().with("PATH", folder.path().join("none"));
    let why = image(&nothing, folder.path()).await.unwrap_err();
    assert!(why.contains("install wl-paste, xclip or pngpaste"), "{why}");
}
