"""Uses `robota` as the client of the MCP conformance suite. Usage: mcp_conformance_client.py URL

The suite starts a server and this script, and looks at what the server gets. The script configures the
server as users do, logs in if the server wants it, and lets a scripted model call the tools.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

url = sys.argv[1]
scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
home = tempfile.mkdtemp(prefix="robota-conformance-")
project = os.path.join(home, "project")
os.mkdir(project)
environment = {"PATH": os.environ["PATH"], "HOME": home}

# The tools of the servers of the suite, by scenario.
CALLS = {
    "tools_call": ("add_numbers", {"a": 5, "b": 3}),
    "elicitation-sep1034-client-defaults": ("test_client_elicitation_defaults", {}),
    "sse-retry": ("test_reconnection", {}),
}
call = CALLS.get(scenario, ("test-tool", {}) if scenario.startswith("auth/") else None)


def robota(*args, **more):
    command = [os.environ["ROBOTA"], *args]
    ran = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, **more)
    print(f"$ robota {' '.join(args)}\n{ran.stdout}{ran.stderr}", file=sys.stderr, flush=True)
    return ran


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browse(address):
    """Opens an address as a browser does; the authorisation servers of the suite redirect at once."""
    try:
        answer = urllib.request.build_opener(NoRedirect).open(address, timeout=10)
        print(answer.read().decode(), file=sys.stderr)
    except urllib.error.HTTPError as error:
        if error.headers.get("Location"):
            browse(error.headers["Location"])
        else:
            print(f"{address}: {error}", file=sys.stderr)


def log_in():
    command = [os.environ["ROBOTA"], "mcp", "login", "test"]
    login = subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE,
                             stderr=sys.stderr, text=True)
    for line in login.stdout:
        print(line, end="", file=sys.stderr)
        if line.startswith("http"):
            browse(line.strip())
    return login.wait(20) == 0


entry = {"type": "http", "url": url, "timeout": 20000}
if "client_id" in context and "private_key_pem" not in context:
    entry["oauth"] = {"clientId": context["client_id"], "clientSecret": context.get("client_secret")}
if scenario == "auth/basic-cimd":
    # The document that the authorisation server of the suite expects.
    entry["oauth"] = {"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
robota("mcp", "add-json", "-s", "user", "test", json.dumps(entry))
tested = robota("mcp", "test")
for _ in range(3):
    if "login" not in tested.stdout + tested.stderr:
        break
    if not log_in():
        sys.exit(1)
    tested = robota("mcp", "test")
if tested.returncode != 0:
    sys.exit(1)

if call:
    name, arguments = call
    script = os.path.join(home, "script.yaml")
    tool = f"mcp__test__{name}"
    with open(script, "w") as file:
        json.dump([{"tools": [{"tool": tool, "input": arguments}]}, "Done."], file)
    args = ["-p", "--provider", f"scripted:{script}", "--allowedTools", "mcp__test"]
    for _ in range(3):
        if scenario.startswith("elicitation"):
            # A host that accepts every form without filling it in.
            args += ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
            command = [os.environ["ROBOTA"], *args]
            run = subprocess.Popen(command, cwd=project, env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
            message = {"type": "user", "message": {"role": "user", "content": "Go."}}
            run.stdin.write(json.dumps(message) + "\n")
            run.stdin.flush()
            for line in run.stdout:
                print(line, end="", file=sys.stderr)
                message = json.loads(line)
                if message["type"] == "control_request":
                    response = {"subtype": "success", "request_id": message["request_id"],
                                "response": {"action": "accept", "content": {}}}
                    run.stdin.write(json.dumps({"type": "control_response", "response": response}) + "\n")
                    run.stdin.flush()
                if message["type"] == "result":
                    run.stdin.close()
            sys.exit(run.wait(20))
        output = ["--output-format", "stream-json", "--verbose"]
        ran = robota(*args[:1], "Go.", *args[1:], *output)
        if ran.returncode != 0:
            sys.exit(ran.returncode)
        # The rights of the token do not suffice: the user logs in again.
        if "robota mcp login" not in ran.stdout:
            sys.exit(0)
        if not log_in():
            sys.exit(1)
    sys.exit(1)
