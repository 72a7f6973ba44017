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
