use std::path::PathBuf;

use super::{dropped_images, image_type};

#[test]
fn dropped_paths_are_understood_as_terminals_write_them() {
    for (pasted, paths) in [
        ("/tmp/a.png", &["/tmp/a.png"][..]),
        (" /tmp/a\\ b.PNG ", &["/tmp/a b.PNG"]),
        ("'/tmp/a b.jpg'", &["/tmp/a b.jpg"]),
        ("\"/tmp/a b.jpg\" /tmp/c.webp\n", &["/tmp/a b.jpg", "/tmp/c.webp"]),
        ("file:///tmp/a%20%C3%BC.gif", &["/tmp/a ü.gif"]),
        ("file://localhost/tmp/a.png", &["/tmp/a.png"]),
        ("~/shot.jpeg", &["~/shot.jpeg"]),
        ("C:\\Users\\a.png", &["C:\\Users\\a.png"]),
    ] {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        assert_eq!(dropped_images(pasted), Some(paths), "{pasted}");
    }
}

#[test]
fn other_texts_are_texts() {
    for pasted in
        ["", "logo.png", "see /tmp/a.png", "/tmp/a.txt", "'/tmp/a.png", "file://host/a.png"]
    {
        assert_eq!(dropped_images(pasted), None, "{pasted}");
    }
}

#[test]
fn images_have_a_type() {
    assert_eq!(image_type("a/b.JPG"), Some("image/jpeg"));
    assert_eq!(image_type("a.svg"), None);
}
