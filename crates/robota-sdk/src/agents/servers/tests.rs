use robota_config::agents::agents_from_json;

use super::*;

#[test]
fn sdk_14_mcp_servers_of_a_definition_are_names_and_configurations() {
    let named = |servers: Value| {
        let agents = json!({"a": {"description": "d", "prompt": "p", "mcpServers": servers}});
        let agents = agents_from_json(&agents.to_string()).0;
        NamedServers::of(&agents[0])
    };
    let config = json!({"command": "server"});
    let own = |name: &str| Map::from_iter([(name.to_owned(), config.clone())]);
    assert_eq!(named(Value::Null), None, "all servers of the session");
    let names = vec!["github".to_owned()];
    let both = NamedServers { names: names.clone(), own: own("db") };
    assert_eq!(named(json!(["github", {"db": config}])), Some(both));
    let both = NamedServers { names, own: own("db") };
    assert_eq!(named(json!({"github": {}, "db": config})), Some(both));
    assert_eq!(named(json!([])), Some(NamedServers::default()), "no servers");
}

#[test]
fn sdk_14_an_agent_has_the_tools_of_the_servers_that_its_definition_names() {
    let servers = ["my calc".to_owned()];
    assert!(is_of_server(Some(&servers), "mcp__my_calc__add"));
    assert!(!is_of_server(Some(&servers), "mcp__my_calculator__add"));
    assert!(is_of_server(None, "mcp__my_calculator__add"));
}

#[test]
fn sdk_14_a_definition_names_servers_and_tools_of_servers() {
    let names = |fields: Value| {
        let mut agent = json!({"description": "d", "prompt": "p"});
        agent.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let agents = agents_from_json(&json!({ "a": agent }).to_string()).0;
        names_server(&agents[0], "my calc")
    };
    assert!(names(json!({"mcpServers": ["my calc"]})));
    for tool in ["mcp__my_calc", "mcp__my_calc__add", "mcp__my_calc__*", "mcp__my_calc__add(x)"] {
        assert!(names(json!({"tools": ["Read", tool]})), "{tool}");
    }
    for other in
        [json!({}), json!({"tools": ["mcp__my_calculator__add"]}), json!({"mcpServers": []})]
    {
        assert!(!names(other.clone()), "{other}");
    }
}
