"""An MCP server with one tool. It adds a line to a file when it starts."""
import json, sys
open(sys.argv[1], "a").write(sys.argv[2] + "\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "bench", "version": "1"}},
        "tools/list": {"tools": [{"name": "echo", "description": "Returns its text",
                                  "inputSchema": {"type": "object"}}]},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
