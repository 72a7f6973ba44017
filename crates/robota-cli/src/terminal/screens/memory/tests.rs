use super::*;

#[test]
fn instruction_files_and_topics_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&project).unwrap();
    let home = ("HOME".to_owned(), home.display().to_string());
    let loaded = Project::load(robota_sdk::ProjectOptions {
        cwd: Some(project.clone()),
        environment: Some([home].into_iter().collect()),
        settings: Some(robota_config::SettingsArgument::Inline(
            r#"{"claudeMdExcludes": ["**/CLAUDE.local.md"]}"#.to_owned(),
        )),
        ..Default::default()
    })
    .unwrap();
    let listed = entries(&loaded);
    assert_eq!(listed.len(), 1);
    assert!(listed[0].title.ends_with("AGENTS.md") && listed[0].detail.contains("not exist yet"));
    std::fs::write(project.join("AGENTS.md"), "Be brief.\n").unwrap();
    std::fs::write(project.join("CLAUDE.local.md"), "Sessions do not get this.\n").unwrap();
    let memory = ProjectMemory::open(&project).unwrap();
    let kind = robota_sdk::memory::MemoryKind::Project;
    let fact =
        robota_sdk::memory::MemoryEntry::new(kind, "build", "Tests run with nextest.").unwrap();
    memory.add(&fact).unwrap();
    let listed = entries(&loaded);
    assert!(!listed.iter().any(|entry| entry.title.ends_with("CLAUDE.local.md")));
    let file = listed.iter().find(|entry| entry.title.ends_with("AGENTS.md")).unwrap();
    assert!(matches!(&file.body, Body::Text(text) if text.contains("Be brief.")));
    assert!(file.file.as_ref().is_some_and(|file| file.is_file()));
    let topic = listed.iter().find(|entry| entry.title == "build").unwrap();
    assert!(matches!(&topic.body, Body::Text(text) if text.contains("nextest")));
}
