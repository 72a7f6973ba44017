//! The images of a prompt.

use std::path::Path;

use robota_core::blob::Blobs;
use robota_core::message::{Block, Content, Image};
use robota_sdk::Prompt;

use crate::terminal::composer::{self, Draft, image_type};

/// The size above which models refuse an image.
const LIMIT: u64 = 20 * 1024 * 1024;

/// Makes a prompt of a text with images. Files are read now.
///
/// # Errors
/// If an image cannot be read or stored; the text says why.
pub(super) async fn prompt(draft: Draft, blobs: &dyn Blobs) -> Result<Prompt, String> {
    let mut content = vec![Block::text(&draft.text)];
    for (_, image) in draft.images {
        let composer::Image::File(file) = image;
        let (media_type, bytes) = read(&file)?;
        let blob = blobs.put(&bytes).await.map_err(|error| error.to_string())?;
        content.push(Block::Image(Image { blob, media_type, extra: serde_json::Map::new() }));
    }
    Ok(Prompt::from(Content(content)))
}

fn read(file: &Path) -> Result<(String, Vec<u8>), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    if std::fs::metadata(file).map_err(failed)?.len() > LIMIT {
        return Err(format!("{}: larger than {} MiB", file.display(), LIMIT / (1024 * 1024)));
    }
    let media_type = image_type(&file.display().to_string()).unwrap_or("image/png");
    Ok((media_type.to_owned(), std::fs::read(file).map_err(failed)?))
}
