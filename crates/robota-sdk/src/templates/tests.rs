use robota_config::agents::agents_from_json;
use robota_core::gate::AllowAll;
use robota_core::journal::MemoryStore;
use robota_core::permission::Class;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{ToolContext, ToolOutcome, ToolSpec};
use robota_runtime::{Pool, PoolAgentOptions};
use robota_session::Session;
use serde_json::{Value, json};

use super::*;

struct Named(ToolSpec);

#[async_trait::async_trait]
impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("ran")
    }
}

fn tools(_scope: &ToolScope) -> Vec<Arc<dyn Tool>> {
    let make = |name: &str| {
        let (name, description) = (name.to_owned(), String::new());
        let input_schema = json!({"type": "object"});
        let spec = ToolSpec { name, description, input_schema, class: Class::Inspect };
        Arc::new(Named(spec)) as Arc<dyn Tool>
    };
    ["Read", "Write", "MultiEdit", "Bash"].map(make).to_vec()
}

#[tokio::test]
async fn kode_09_an_agent_file_is_a_template() {
    let text = json!({
        "lead": {
            "description": "Leads.",
            "prompt": "You lead.",
            "tools": ["Read", "Bash(git *)", "Agent(dev)"],
            "disallowedTools": ["Bash"],
            "model": "some-other-model",
            "permissionMode": "plan",
        },
        "dev": {"description": "Builds.", "prompt": "You build."},
        "qa": {
            "description": "Tests.",
            "prompt": "You test.",
            "disallowedTools": ["Bash(git push *)", "Edit(docs/**)"],
        },
    });
    let (agents, _) = agents_from_json(&text.to_string());
    let model = ScriptedProvider::new(Script::new().text("Hello.").looped());
    let mut pool = Pool::builder(MemoryStore::new());
    for agent in &agents {
        let base = Session::builder(model.clone(), "base").gate(AllowAll);
        pool = pool.template(template_of(agent, base, "base", Arc::new(tools)));
    }
    let pool = pool.start();
    for name in ["lead", "dev", "qa"] {
        let id = format!("agent:{name}/session:1");
        let agent = pool.create(id.as_str(), name, PoolAgentOptions::default()).await.unwrap();
        assert_eq!(agent.run("Hi").await.unwrap(), "Hello.");
    }
    let requests = model.requests();
    let offered = |at: usize| -> Vec<String> {
        requests[at].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(requests[0].model, "some-other-model");
    assert_eq!(requests[0].system.as_deref(), Some("You lead."));
    assert!(offered(0).contains(&"Read".to_owned()));
    assert!(offered(0).contains(&"Agent".to_owned()));
    assert!(!offered(0).contains(&"Bash".to_owned()) && !offered(0).contains(&"Write".to_owned()));
    assert_eq!(requests[1].model, "base");
    assert!(offered(1).contains(&"Bash".to_owned()) && !offered(1).contains(&"Agent".to_owned()));
    // A denied call is not made, whatever the gate of the caller allows, by no tool that shares the rule.
    for (name, has) in [("Read", true), ("Write", false), ("MultiEdit", false), ("Bash", false)] {
        assert_eq!(offered(2).iter().any(|it| it == name), has, "{name}");
    }
    assert_eq!(pool.template("dev").unwrap().described(), Some("Builds."));
}
