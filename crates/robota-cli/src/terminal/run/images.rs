//! The images of a prompt.

use std::path::{Path, PathBuf};

use robota_core::blob::Blobs;
use robota_core::catalogue::{Capability, Catalogue};
use robota_core::message::{Block, Content, Image};
use robota_sdk::Prompt;

use crate::terminal::composer::{self, Draft, image_type};

/// The size above which models refuse an image.
pub(super) const LIMIT: u64 = 20 * 1024 * 1024;

/// Returns why a model cannot be sent images; none if it can, or if that is not known.
pub(super) fn refused_by(model: &str) -> Option<String> {
    let info = Catalogue::builtin().get(model)?;
    let reads = info.capabilities.is_empty() || info.capabilities.contains(&Capability::Images);
    (!reads).then(|| format!("{} does not read images: choose another model (/model)", info.name))
}

/// Makes a prompt of a text with images. Files are read now; `~` is the home folder.
///
/// # Errors
/// If an image cannot be read or stored; the text says why.
pub(super) async fn prompt(
    draft: Draft,
    blobs: &dyn Blobs,
    home: Option<&Path>,
) -> Result<Prompt, String> {
    Ok(Prompt::from(content(draft, blobs, home).await?))
}

async fn content(draft: Draft, blobs: &dyn Blobs, home: Option<&Path>) -> Result<Content, String> {
    let mut content = vec![Block::text(&draft.text)];
    for (_, image) in draft.images {
        let (media_type, bytes) = match image {
            composer::Image::File(file) => read(&in_home(file, home))?,
            composer::Image::Png(bytes) => ("image/png".to_owned(), bytes.to_vec()),
        };
        let blob = blobs.put(&bytes).await.map_err(|error| error.to_string())?;
        content.push(Block::Image(Image { blob, media_type, extra: serde_json::Map::new() }));
    }
    Ok(Content(content))
}

fn in_home(file: PathBuf, home: Option<&Path>) -> PathBuf {
    match (file.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => file,
    }
}

fn read(file: &Path) -> Result<(String, Vec<u8>), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    // Checked before reading: the user may have named a video.
    if std::fs::metadata(file).map_err(failed)?.len() > LIMIT {
        return Err(format!("{}: larger than {} MiB", file.display(), LIMIT / (1024 * 1024)));
    }
    let media_type = image_type(&file.display().to_string()).unwrap_or("image/png");
    Ok((media_type.to_owned(), std::fs::read(file).map_err(failed)?))
}

#[cfg(test)]
mod tests;
