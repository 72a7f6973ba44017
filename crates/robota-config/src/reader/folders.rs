//! The folders around a working folder, and how far links in each may lead.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::layer::Layer;
use crate::places::Places;

/// How far a link may lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// Anywhere: the user's own files, often links into a folder of dot files.
    User,
    /// Inside this folder: the files of a checkout.
    Within(PathBuf),
    /// Inside this folder above the checkout, where only files of these users are read.
    Above { folder: PathBuf, owners: [u32; 3] },
}

impl Boundary {
    pub(crate) fn contains(&self, real: &Path) -> bool {
        match self {
            Self::User => true,
            Self::Within(folder) | Self::Above { folder, .. } => real.starts_with(folder),
        }
    }
}

/// The folders that context files are searched in.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) places: Places,
    /// The canonical working folder.
    pub(crate) cwd: PathBuf,
    /// The canonical folder of the checkout.
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// `~/.robota`; none without a home folder.
    pub(crate) user_robota: Option<PathBuf>,
    /// `~/.claude`, or the folder that replaces it.
    pub(crate) user_claude: Option<PathBuf>,
    /// The folders of the administrator, lowest first.
    pub(crate) managed: Vec<PathBuf>,
    /// The owners of the home folder and of the working folder, and root.
    owners: [u32; 3],
    /// The identities of the user's folders.
    users: [Option<(u64, u64)>; 2],
}

/// Returns the file system and the number of a folder: those of two paths are equal if the paths lead
/// to the same folder.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    folder.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Returns the owners of the home folder and of the working folder, and root, who may write everywhere
/// anyway.
fn owners(cwd: &Path, home: Option<&Path>) -> [u32; 3] {
    let owner = |folder: &Path| folder.metadata().map_or(0, |found| found.uid());
    [home.map_or(0, owner), owner(cwd), 0]
}

/// Returns the folder of the checkout that contains a canonical folder; the folder itself if there is
/// none.
pub(crate) fn checkout_root<'a>(cwd: &'a Path, home: Option<&Path>) -> &'a Path {
    owned_root(cwd, home, owners(cwd, home))
}

/// Returns the folder of the checkout, if one of these users has made it.
pub(super) fn owned_root<'a>(cwd: &'a Path, home: Option<&Path>, owners: [u32; 3]) -> &'a Path {
    // A file in a worktree or a submodule, so only its existence counts.
    let is_repository = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    // A home folder under version control is no checkout: links of a checkout must not lead to its
    // files.
    let is_checkout = |folder: &&Path| !home.is_some_and(|home| home.starts_with(folder));
    // Another user can make a repository of a folder such as `/tmp`, whose files would then count as
    // those of the checkout.
    let is_owned = |folder: &&Path| {
        let owned =
            |path: &Path| path.symlink_metadata().is_ok_and(|found| owners.contains(&found.uid()));
        *folder == cwd || (owned(folder) && owned(&folder.join(".git")))
    };
    let root = cwd.ancestors().find(is_repository).filter(is_checkout).filter(is_owned);
    root.unwrap_or(cwd)
}

impl Folders {
    pub(crate) fn find(places: &Places) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let cwd = real(&places.cwd);
        let home = places.home.as_deref().map(real);
        let root = checkout_root(&cwd, home.as_deref()).to_owned();
        let owners = owners(&cwd, home.as_deref());
        let user_robota = home.as_deref().map(|home| home.join(".robota"));
        let user_claude = places.claude_dir.clone();
        let user_claude = user_claude.or_else(|| home.as_deref().map(|home| home.join(".claude")));
        let users = [user_robota.as_deref(), user_claude.as_deref()];
        Self {
            users: users.map(|folder| folder.and_then(identity)),
            user_robota,
            user_claude,
            managed: places.managed.clone(),
            places: places.clone(),
            cwd,
            root,
            home,
            owners,
        }
    }

    /// Returns the working folder and the folders above it up to the checkout, nearest first.
    pub(crate) fn checkout(&self) -> impl Iterator<Item = &Path> {
        self.cwd.ancestors().take_while(|folder| folder.starts_with(&self.root))
    }

    /// Returns how far links in a folder of the project may lead.
    pub(crate) fn boundary(&self, folder: &Path) -> Boundary {
        if folder.starts_with(&self.root) {
            Boundary::Within(self.root.clone())
        } else {
            Boundary::Above { folder: folder.to_owned(), owners: self.owners }
        }
    }

    /// Returns the path of a file or folder of the user; none if the layer is not the user's, is not
    /// read, or there is no home folder.
    pub(crate) fn user(&self, layer: Layer, name: &str) -> Option<PathBuf> {
        let base = match layer {
            Layer::UserRobota => self.user_robota.as_deref(),
            Layer::UserClaude => self.user_claude.as_deref(),
            Layer::BuiltIn
            | Layer::ProjectRobota
            | Layer::ProjectRobotaLocal
            | Layer::ProjectClaude
            | Layer::ProjectClaudeLocal
            | Layer::Argument
            | Layer::Flags
            | Layer::Managed => None,
        };
        base.filter(|_| self.places.reads(layer)).map(|base| base.join(name))
    }

    /// Returns the folders with that name in the `.claude` of the administrator, highest precedence first.
    pub(crate) fn managed(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.managed.iter().rev().map(move |folder| folder.join(".claude").join(name))
    }

    /// Returns whether a folder such as `PROJECT/.claude` is the user's own.
    pub(crate) fn is_users(&self, folder: &Path) -> bool {
        let users = [self.user_robota.as_deref(), self.user_claude.as_deref()];
        users.contains(&Some(folder))
            // By number, because a path can lead to the same folder by a link or another spelling.
            || identity(folder).is_some_and(|folder| self.users.contains(&Some(folder)))
    }
}
