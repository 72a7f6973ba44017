//! A home folder and a checkout for tests of settings.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};

use robota_config::{
    ContextReader, Files, KeyPath, Layer, Places, RuleText, Settings, SettingsWriter, Trust,
    TrustStore, load,
};
use robota_core::clock::Clock;
use tempfile::TempDir;

pub struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

pub struct World {
    _dir: TempDir,
    pub places: Places,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home", "project"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        Self { places: Places::new(root.join("home"), root.join("project")), _dir: dir }
    }

    pub fn with(layers: &[(Layer, &str)]) -> Self {
        let world = Self::new();
        for (layer, text) in layers {
            world.write(*layer, text);
        }
        world
    }

    pub fn file(&self, layer: Layer) -> PathBuf {
        self.places.file(layer).unwrap()
    }

    pub fn write(&self, layer: Layer, text: &str) -> PathBuf {
        let file = self.file(layer);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    pub fn read(&self, layer: Layer) -> String {
        std::fs::read_to_string(self.file(layer)).unwrap()
    }

    pub fn load(&self) -> Settings {
        load(&self.places, &TrustStore::load(&self.places), &|_, _| Ok(()))
    }

    pub fn load_as(&self, trust: Trust) -> Settings {
        Settings::from_files(&Files::read(&self.places), trust, &|_, _| Ok(()))
    }

    pub fn trust(&self) {
        let subject = Files::read(&self.places).trust_subject();
        TrustStore::load(&self.places).grant(&subject, &Stopped).unwrap();
    }

    pub fn status(&self) -> Trust {
        TrustStore::load(&self.places).status(&Files::read(&self.places))
    }

    pub fn writer<T>(&self, work: impl FnOnce(SettingsWriter<'_>) -> T) -> T {
        let mut trust = TrustStore::load(&self.places);
        work(SettingsWriter { places: &self.places, trust: &mut trust, clock: &Stopped })
    }

    /// Writes a file of the project, or of the home folder for a path that begins with `~/`.
    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.places.home.as_ref().unwrap().join(rest),
            None => self.places.cwd.join(path),
        }
    }

    /// Makes a link in the project to a path as it is written.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, file).unwrap();
    }

    pub fn pipe(&self, path: &str) {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    pub fn reader(&self) -> ContextReader {
        ContextReader::new(&self.places)
    }

    pub fn trust_store(&self) -> TrustStore {
        TrustStore::load(&self.places)
    }

    pub fn project(&self) -> &Path {
        &self.places.cwd
    }
}

pub fn key(text: &str) -> KeyPath {
    KeyPath::parse(text).unwrap()
}

pub fn texts(rules: &[RuleText]) -> Vec<&str> {
    rules.iter().map(|rule| rule.text.as_str()).collect()
}

pub fn allowed(settings: &Settings) -> Vec<&str> {
    texts(&settings.permissions.allow)
}

pub fn problems(settings: &Settings) -> Vec<String> {
    settings.report.problems.iter().map(ToString::to_string).collect()
}

pub fn lines(report: &robota_config::Report) -> Vec<String> {
    report.problems.iter().map(ToString::to_string).collect()
}
