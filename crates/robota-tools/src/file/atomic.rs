//! Writing a file so that it has the old or the new content at any time, never a mix.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// New content next to the file it will replace, on the disk.
pub(super) struct Prepared {
    temp: NamedTempFile,
}

impl Prepared {
    /// Writes and syncs new content for `target` with its mode and, where we may, its owner.
    /// `target` itself must not be a link: the link would be replaced.
    pub(super) fn new(target: &Path, content: &[u8], like: &Metadata) -> io::Result<Self> {
        let dir = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // Made readable for nobody else; only then written, only then given its mode.
        let mut temp =
            tempfile::Builder::new().prefix(".").suffix(".robota-new").tempfile_in(dir)?;
        temp.write_all(content)?;
        take_after(temp.as_file(), like)?;
        temp.as_file().sync_all()?;
        Ok(Self { temp })
    }

    /// Puts it in the place of the old content.
    pub(super) fn commit(self, target: &Path) -> io::Result<Metadata> {
        let file = self.temp.persist(target).map_err(|error| error.error)?;
        // The rename itself lives in the directory. Not all systems can sync one.
        if let Some(dir) = target.parent()
            && let Ok(dir) = File::open(dir)
        {
            let _ = dir.sync_all();
        }
        file.metadata()
    }
}

fn take_after(file: &File, like: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            // Only root may give files away; others keep what they wrote.
            let _ = fchown(file, Some(like.uid()), Some(like.gid()));
        }
    }
    // After the owner, whose change may clear mode bits.
    file.set_permissions(like.permissions())
}
