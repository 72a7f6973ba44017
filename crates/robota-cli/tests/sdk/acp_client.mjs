// Drives `robota acp` with the official TypeScript ACP client, and validates every message of the
// agent against the official schema. Usage: acp_client.mjs CASE; prints one JSON object.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The packages are installed in the folder in which the test starts this script.
const require = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const folder = join(process.cwd(), "node_modules/@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(join(folder, "dist/v1/unstable/acp.js")).href);
const Ajv = (await load("ajv/dist/2020.js")).default.default ?? (await load("ajv/dist/2020.js")).default;
const schema = JSON.parse(readFileSync(join(folder, "schema/v1/schema.unstable.json")));
const stable = JSON.parse(readFileSync(join(folder, "schema/v1/schema.json")));

/** Validates messages of the agent. */
const ajv = new Ajv({ strict: false, validateFormats: false, discriminator: true });
ajv.addSchema(stable, "stable");
ajv.addSchema(schema, "unstable");
const problems = [];
let validated = 0;
let received = 0;
function check(name, value) {
  const place = stable.$defs[name] ? "stable" : "unstable";
  const validate = ajv.getSchema(`${place}#/$defs/${name}`);
  validated += 1;
  if (!validate(value)) problems.push({ name, value, errors: validate.errors });
}
const named = (method, end) =>
  Object.entries(schema.$defs).find(([name, d]) => d["x-method"] === method && name.endsWith(end))?.[0];

/** Starts the agent. `answer` decides about calls; `sent` maps our request ids to methods. */
function start(answer = () => null, capabilities = {}) {
  const child = spawn(process.env.ROBOTA, ["acp", ...JSON.parse(process.env.ARGS ?? "[]")], {
    cwd: process.env.PROJECT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  const sent = new Map();
  const lines = (each) => {
    let rest = "";
    return (chunk) => {
      const parts = (rest + Buffer.from(chunk).toString()).split("\n");
      rest = parts.pop();
      parts.filter((part) => part.trim()).forEach((part) => each(JSON.parse(part)));
    };
  };
  const record = lines((m) => m.method && m.id !== undefined && sent.set(m.id, m.method));
  let updatesOnWire = 0;
  const validate = lines((m) => {
    received += 1;
    if (m.method === "session/update") updatesOnWire += 1;
    if (m.jsonrpc !== "2.0") problems.push({ name: "jsonrpc", value: m });
    if (m.method && m.id !== undefined) check(named(m.method, "Request"), m.params);
    else if (m.method) check(named(m.method, "Notification"), m.params);
    else if (m.error) check("Error", m.error);
    else check(named(sent.get(m.id), "Response"), m.result);
  });
  const output = Writable.toWeb(child.stdin);
  const toAgent = new TransformStream({ transform(c, o) { record(c); o.enqueue(c); } });
  toAgent.readable.pipeTo(output).catch(() => {});
  const fromAgent = new TransformStream({ transform(c, o) { validate(c); o.enqueue(c); } });
  const input = Readable.toWeb(child.stdout).pipeThrough(fromAgent);
  const updates = [];
  const asked = [];
  const waiting = [];
  const files = [];
  const buffers = {};
  const terminals = [];
  const running = [];
  const released = [];
  const app = acp
    .client({ name: "robota-test" })
    .onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
      asked.push(params);
      const chosen = await answer(params, asked.length - 1);
      return { outcome: chosen ? { outcome: "selected", optionId: chosen } : { outcome: "cancelled" } };
    })
    .onRequest(acp.methods.client.elicitation.create, async ({ params }) => {
      asked.push(params);
      if (params.requestedSchema.properties.name) return { action: "accept", content: { name: "Ada" } };
      return { action: "accept", content: { answer: params.requestedSchema.properties.answer.oneOf[1].const } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, async ({ params }) => {
      files.push(`read ${params.path}`);
      if (!(params.path in buffers)) throw new Error("not open");
      return { content: buffers[params.path] };
    })
    .onRequest(acp.methods.client.fs.writeTextFile, async ({ params }) => {
      files.push(`write ${params.path}`);
      buffers[params.path] = params.content;
      writeFileSync(params.path, params.content);
      return {};
    })
    .onRequest(acp.methods.client.terminal.create, async ({ params }) => {
      terminals.push(params);
      const child = spawn(params.command, params.args, { cwd: params.cwd, detached: true });
      const terminal = { child, output: "" };
      child.stdout.on("data", (data) => { terminal.output += data; });
      child.stderr.on("data", (data) => { terminal.output += data; });
      terminal.exited = new Promise((resolve) =>
        child.on("close", (exitCode, signal) => resolve({ exitCode, signal })));
      running.push(terminal);
      return { terminalId: String(running.length - 1) };
    })
    .onRequest(acp.methods.client.terminal.waitForExit, ({ params }) => running[params.terminalId].exited)
    .onRequest(acp.methods.client.terminal.output, async ({ params }) => ({
      output: running[params.terminalId].output, truncated: false }))
    .onRequest(acp.methods.client.terminal.kill, async ({ params }) => {
      process.kill(-running[params.terminalId].child.pid, "SIGKILL");
      return {};
    })
    .onRequest(acp.methods.client.terminal.release, async ({ params }) => {
      released.push(params.terminalId);
      return {};
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      updates.push(params.update);
      for (const w of [...waiting]) if (w.test(params.update)) w.resolve(params.update);
    });
  const connection = app.connect(acp.ndJsonStream(toAgent.writable, input));
  const request = async (method, params) => {
    const reply = await connection.agent.request(method, params).catch((e) => (
      { error: { code: e.code, message: e.message, data: e.data ?? null } }));
    // The library may resolve a reply before it has passed on the updates that came before it.
    const before = updatesOnWire;
    while (updates.length < before) await new Promise(setImmediate);
    return reply;
  };
  const until = (test) =>
    updates.find(test) ?? new Promise((resolve) => waiting.push({ test, resolve }));
  const close = async () => { connection.close(); child.stdin.end(); return exited; };
  const initialize = () =>
    request("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  return { child, exited, updates, asked, files, buffers, terminals, released, request, until, close, initialize,
    notify: (m, p) => connection.agent.notify(m, p) };
}

const cwd = process.env.PROJECT;
const text = (t) => [{ type: "text", text: t }];
const kinds = (updates) => [...new Set(updates.map((u) => u.sessionUpdate))].sort();
const said = (updates, kind = "agent_message_chunk") =>
  updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");
const calls = (updates) => updates.filter((u) => u.sessionUpdate.startsWith("tool_call"));
const open = (agent, more = {}) => agent.request("session/new", { cwd, mcpServers: [], ...more });
const prompt = (agent, sessionId, t) =>
  agent.request("session/prompt", { sessionId, prompt: typeof t === "string" ? text(t) : t });

const cases = {
  async talk() {
    const agent = start();
    const init = await agent.initialize();
    const session = await open(agent);
    await agent.until((u) => u.sessionUpdate === "available_commands_update");
    const end = await prompt(agent, session.sessionId, "Hello.");
    const said1 = said(agent.updates);
    const thought = said(agent.updates, "agent_thought_chunk");
    const command = await prompt(agent, session.sessionId, "/mode");
    const missing = await prompt(agent, "no-such-session", "Hello.");
    const unknown = await agent.request("_custom/method", {});
    return { init, session, end, said: said1, thought, command, missing, unknown,
      updates: kinds(agent.updates), all: said(agent.updates),
      usage: agent.updates.findLast((u) => u.sessionUpdate === "usage_update"),
      commands: agent.updates.find((u) => u.sessionUpdate === "available_commands_update"),
      plan: agent.updates.filter((u) => u.sessionUpdate === "plan"),
      exit: await agent.close() };
  },
  async permissions() {
    const answers = ["allow", "reject", "allow_always", "nonsense"];
    const agent = start((_, n) => answers[n]);
    await agent.initialize();
    const { sessionId } = await open(agent);
    const end = await prompt(agent, sessionId, "Work.");
    return { end, asked: agent.asked, calls: calls(agent.updates), exit: await agent.close() };
  },
  async edits() {
    const agent = start(() => "allow");
    await agent.initialize();
    const { sessionId } = await open(agent);
    const end = await prompt(agent, sessionId, "Work.");
    return { end, asked: agent.asked, calls: calls(agent.updates),
      plan: agent.updates.filter((u) => u.sessionUpdate === "plan"), exit: await agent.close() };
  },
  async cancel() {
    const agent = start();
    await agent.initialize();
    const { sessionId } = await open(agent);
    const running = prompt(agent, sessionId, "Hello.");
    await agent.until((u) => u.sessionUpdate === "agent_message_chunk");
    agent.notify("session/cancel", { sessionId });
    const end = await running;
    // Cancellations that follow the prompt at once, and prompts that follow the cancellation at once.
    const sent = [];
    for (let n = 0; n < 10; n += 1) {
      sent.push(prompt(agent, sessionId, "Hello again."));
      agent.notify("session/cancel", { sessionId });
    }
    const last = prompt(agent, sessionId, "And now?");
    const at_once = await Promise.all(sent);
    const after = await last;
    return { end, at_once, after, said: said(agent.updates),
      exit: await agent.close() };
  },
  async cancel_permission() {
    let agent;
    let sessionId;
    agent = start(async () => { agent.notify("session/cancel", { sessionId }); return null; });
    await agent.initialize();
    sessionId = (await open(agent)).sessionId;
    const end = await prompt(agent, sessionId, "Work.");
    return { end, asked: agent.asked.length, exit: await agent.close() };
  },
  async load() {
    const first = start(() => "allow");
    await first.initialize();
    const { sessionId } = await open(first);
    await prompt(first, sessionId, "Work.");
    const live = first.updates.filter((u) => u.sessionUpdate.startsWith("agent_") || u.sessionUpdate === "tool_call");
    await first.close();
    const agent = start(() => "allow");
    await agent.initialize();
    const list = await agent.request("session/list", { cwd });
    const loaded = await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    const replayed = [...agent.updates];
    const again = await prompt(agent, sessionId, "Again.");
    await agent.request("session/close", { sessionId });
    const closed = await prompt(agent, sessionId, "Closed.");
    const before = agent.updates.length;
    const resumed = await agent.request("session/resume", { sessionId, cwd });
    const silent = agent.updates.slice(before).filter((u) => u.sessionUpdate !== "available_commands_update");
    const forked = await agent.request("session/fork", { sessionId, cwd });
    const inFork = await prompt(agent, forked.sessionId, "In the fork.");
    const missing = await agent.request("session/load", { sessionId: "none", cwd, mcpServers: [] });
    const deleted = await agent.request("session/delete", { sessionId: forked.sessionId });
    const list2 = await agent.request("session/list", {});
    const relative = await open(agent, { cwd: "relative" });
    return { sessionId, live, list, loaded, replayed, again, closed, resumed, silent, forked, inFork,
      missing, deleted, list2, relative, exit: await agent.close() };
  },
  async folders() {
    const other = join(dirname(cwd), "other");
    const ids = (list) => list.sessions.map((s) => s.sessionId);
    const first = start();
    await first.initialize();
    const here = (await open(first)).sessionId;
    await prompt(first, here, "Here.");
    const made = [];
    for (const say of ["One.", "Two."]) {
      const { sessionId } = await open(first, { cwd: other });
      await prompt(first, sessionId, say);
      await first.request("session/close", { sessionId });
      made.push(sessionId);
    }
    const all = ids(await first.request("session/list", {}));
    const inOther = ids(await first.request("session/list", { cwd: other }));
    await first.request("session/delete", { sessionId: made[0] });
    const left = ids(await first.request("session/list", {}));
    await first.close();
    const agent = start();
    await agent.initialize();
    const fresh = ids(await agent.request("session/list", {}));
    const inOther2 = ids(await agent.request("session/list", { cwd: other }));
    const named = ids(await agent.request("session/list", {}));
    await agent.request("session/delete", { sessionId: made[1] });
    const none = ids(await agent.request("session/list", { cwd: other }));
    return { here, made, all, inOther, left, fresh, inOther2, named, none, exit: await agent.close() };
  },
  async modes() {
    const agent = start(() => "reject");
    await agent.initialize();
    const session = await open(agent);
    const { sessionId } = session;
    const mode = await agent.request("session/set_mode", { sessionId, modeId: "acceptEdits" });
    const end = await prompt(agent, sessionId, "Write.");
    const model = await agent.request("session/set_config_option", { sessionId, configId: "model", value: "claude-opus-5" });
    const effort = await agent.request("session/set_config_option", { sessionId, configId: "effort", value: "high" });
    const wrong = await agent.request("session/set_mode", { sessionId, modeId: "bypassPermissions" });
    const second = await prompt(agent, sessionId, "Hello.");
    return { session, mode, end, asked: agent.asked.length, model, effort, wrong, second,
      modes: agent.updates.filter((u) => u.sessionUpdate === "current_mode_update"),
      updates: kinds(agent.updates), exit: await agent.close() };
  },
  async blocks() {
    const agent = start(() => null, { session: { notices: {} } });
    await agent.initialize();
    const listed = join(cwd, "listed");
    const server = join(dirname(process.argv[1]), "mcp_echo.py");
    const mcpServers = [{ name: "files", command: "python3", args: [server], env: [{ name: "LISTED", value: listed }] }];
    const session = await open(agent, { mcpServers });
    const { sessionId } = session;
    // A session does not wait for a slow server.
    await new Promise((resolve) => {
      const timer = setInterval(() => existsSync(listed) && (clearInterval(timer), resolve()), 20);
    });
    const end = await prompt(agent, sessionId, [
      { type: "text", text: "Look at these:" },
      { type: "resource_link", name: "a.txt", uri: `file://${cwd}/a.txt` },
      { type: "resource_link", name: "my notes.txt", uri: `file://${cwd}/my%20notes.txt#L2:2` },
      { type: "resource", resource: { uri: "file:///b.txt", mimeType: "text/plain",
        text: "embedded text, see @other.txt" } },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
    ]);
    const audio = await prompt(agent, sessionId, [{ type: "audio", mimeType: "audio/wav", data: "AAAA" }]);
    return { end, audio, exit: await agent.close() };
  },
  async form() {
    const agent = start(() => "allow", { elicitation: { form: {} } });
    await agent.initialize();
    const { sessionId } = await open(agent);
    const end = await prompt(agent, sessionId, "Ask.");
    return { end, asked: agent.asked, exit: await agent.close() };
  },
  async server_form() {
    const agent = start(() => "allow", { elicitation: { form: {} } });
    await agent.initialize();
    const { command, args, env } = JSON.parse(process.env.SERVER);
    const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
    const mcpServers = [{ name: "fake", command, args, env: variables }];
    const { sessionId } = await open(agent, { mcpServers });
    const end = await prompt(agent, sessionId, "Ask.");
    return { end, asked: agent.asked, exit: await agent.close() };
  },
  async files() {
    const agent = start(() => "allow", { fs: { readTextFile: true, writeTextFile: true } });
    await agent.initialize();
    const { sessionId } = await open(agent);
    agent.buffers[join(cwd, "a.txt")] = "text that is not saved\n";
    const end = await prompt(agent, sessionId, "Work.");
    const first = [...agent.files];
    agent.buffers[join(cwd, "a.txt")] = readFileSync(join(cwd, "a.txt"), "utf8");
    const end2 = await prompt(agent, sessionId, "Work again.");
    return { end, end2, first, files: agent.files, calls: calls(agent.updates), exit: await agent.close() };
  },
  async terminals() {
    const agent = start((_, n) => (n === 1 ? "reject" : "allow"), { terminal: true });
    await agent.initialize();
    const { sessionId } = await open(agent);
    const end = await prompt(agent, sessionId, "Work.");
    const stuck = prompt(agent, sessionId, "Wait.");
    await agent.until((u) => u.content?.[0]?.terminalId === "2");
    while (!existsSync(join(cwd, "begun"))) await new Promise(setImmediate);
    agent.notify("session/cancel", { sessionId });
    const end2 = await stuck;
    return { end, end2, terminals: agent.terminals, released: agent.released,
      calls: calls(agent.updates), exit: await agent.close() };
  },
  async gone() {
    const first = start();
    await first.initialize();
    const { sessionId } = await open(first);
    const running = prompt(first, sessionId, "Hello.").catch((e) => String(e));
    await first.until((u) => u.sessionUpdate === "agent_message_chunk");
    const exit = await first.close();
    await Promise.race([running, first.exited]);
    const agent = start();
    await agent.initialize();
    const loaded = await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    const replayed = said(agent.updates);
    const end = await prompt(agent, sessionId, "Go on.");
    return { exit, loaded, replayed, end, exit2: await agent.close() };
  },
};

const result = await cases[process.argv[2]]();
console.log(JSON.stringify({ ...result, problems, validated, received }));
process.exit(0);
