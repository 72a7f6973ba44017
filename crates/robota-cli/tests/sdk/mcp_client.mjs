// Drives `robota mcp serve` with the official TypeScript MCP client. Usage: mcp_client.mjs CASE;
// prints one JSON object. URL and TOKEN select HTTP; without them the program is started over stdio. Every
// message of the server is validated against the JSON Schema of the protocol.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { validator } from "./mcp_schema.mjs";

// The packages are installed in the folder in which the test starts this script.
const require = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ElicitRequestSchema, ResourceUpdatedNotificationSchema } = await load("@modelcontextprotocol/sdk/types.js");

function transport() {
  if (process.env.URL) {
    const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
    return new StreamableHTTPClientTransport(new URL(process.env.URL), { requestInit: { headers } });
  }
  const args = ["mcp", "serve", ...JSON.parse(process.env.ARGS ?? "[]")];
  return new StdioClientTransport({ command: process.env.ROBOTA, args, cwd: process.env.PROJECT, env: process.env });
}

const frames = await validator("server");

/** Passes the messages of both sides to the validation. */
function validated(transport) {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    frames.client(message);
    return send(message, options);
  };
  let receive;
  Object.defineProperty(transport, "onmessage", {
    get: () => receive,
    set: (handler) => {
      receive = handler && ((message, extra) => { frames.server(message); return handler(message, extra); });
    },
  });
  return transport;
}

/** Connects. `answer` makes the client one that can ask its user. */
async function connect(answer) {
  const capabilities = answer ? { elicitation: {} } : {};
  const client = new Client({ name: "robota-test", version: "1.0.0" }, { capabilities });
  const asked = [];
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params);
      return answer(params);
    });
  }
  await client.connect(validated(transport()));
  const progress = [];
  const call = async (name, args) => {
    try {
      return await client.callTool({ name, arguments: args }, undefined, { onprogress: (p) => progress.push(p) });
    } catch (e) {
      return { error: { code: e.code, message: e.message } };
    }
  };
  return { client, call, asked, progress };
}

const text = (result) => result.content?.map((c) => c.text).join("");
const allow = () => ({ action: "accept", content: { decision: "allow" } });

const cases = {
  async tools() {
    const { client, call, progress } = await connect();
    const info = client.getServerVersion();
    const { tools } = await client.listTools();
    const read = await call("Read", { file_path: "a.txt" });
    const denied = await call("Bash", { command: "touch denied" });
    const allowed = await call("Bash", { command: "echo allowed-by-rule" });
    const wrong = await call("Read", { file: "a.txt" });
    const unknown = await call("Nope", {});
    const escape = await call("Read", { file_path: "/etc/passwd" });
    await client.close();
    return { info, tools, read, denied, allowed, wrong, unknown, escape, progress: progress.length };
  },
  async ask() {
    const answers = [allow(), { action: "decline" }, { action: "accept", content: { decision: "deny" } }];
    const { client, call, asked } = await connect(() => answers.shift());
    const results = [];
    for (const file of ["first", "second", "third"]) results.push(text(await call("Bash", { command: `touch ${file}` })));
    await client.close();
    return { results, asked };
  },
  async agent() {
    const { client, call, asked, progress } = await connect(allow);
    const started = await call("agent_start", { prompt: "Make a file." });
    const session = started.structuredContent?.session;
    const sent = await call("agent_send", { session, prompt: "And now?" });
    const waited = await call("agent_wait", { session });
    const outside = await call("agent_start", { prompt: "x", cwd: "/etc" });
    const cancelled = await call("agent_cancel", { session });
    const gone = await call("agent_wait", { session });
    await client.close();
    return { started, sent, waited, outside, cancelled, gone, asked, progress };
  },
  /** Sends a second prompt while the first one waits for an approval, and reads the conversation. */
  async two() {
    let second, session;
    const { client, call, asked } = await connect(async () => {
      const { resources } = await client.listResources();
      session = resources[0].uri.split("/").pop();
      second = call("agent_send", { session, prompt: "And now?" });
      return allow();
    });
    const updated = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.push(params.uri));
    const started = await call("agent_start", { prompt: "Make a file." });
    const sent = await second;
    const { resourceTemplates } = await client.listResourceTemplates();
    const uri = `robota://session/${session}`;
    const read = await client.readResource({ uri });
    const missing = await client.readResource({ uri: "robota://session/none" }).catch((e) => ({ code: e.code }));
    await client.subscribeResource({ uri });
    await call("agent_send", { session, prompt: "Once more." });
    const capabilities = client.getServerCapabilities();
    // The notification of the end may arrive after the result.
    while (updated.length === 0) await new Promise((wake) => setImmediate(wake));
    await client.close();
    return { asked, started, sent, read, missing, updated, uri, resourceTemplates, capabilities };
  },
  async decide() {
    const { client, call } = await connect();
    const started = await call("agent_start", { prompt: "Make a file." });
    const { session, permissions } = started.structuredContent;
    const decided = await call("agent_decide", { session, call: permissions[0].call, decision: "allow" });
    const done = await call("agent_wait", { session });
    const again = await call("agent_decide", { session, call: permissions[0].call, decision: "allow" });
    await client.close();
    return { started, decided, done, again };
  },
  async headless() {
    const { client, call } = await connect();
    const { tools } = await client.listTools();
    const done = await call("agent_start", { prompt: "Make a file." });
    await client.close();
    return { names: tools.map((t) => t.name), done };
  },
  /** Loses the connection in the middle of a call, and goes on by Last-Event-ID. */
  async resume() {
    const url = process.env.URL;
    const base = { Authorization: `Bearer ${process.env.TOKEN}`, Accept: "application/json, text/event-stream" };
    const post = (session, body, signal) => fetch(url, {
      method: "POST", signal, body: JSON.stringify({ jsonrpc: "2.0", ...body }),
      headers: { ...base, "Content-Type": "application/json", ...(session ? { "Mcp-Session-Id": session } : {}) },
    });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const first = await post(null, { id: 1, method: "initialize", params });
    const session = first.headers.get("mcp-session-id");
    await first.text();
    await (await post(session, { method: "notifications/initialized" })).text();
    const cut = new AbortController();
    const call = { id: 2, method: "tools/call", params: { name: "Bash", arguments: { command: "echo allowed-by-rule" } } };
    const stream = await post(session, call, cut.signal);
    const { value } = await stream.body.getReader().read();
    const id = /^id: ?(.+)$/m.exec(Buffer.from(value).toString())?.[1];
    cut.abort();
    const get = async (last, token = base.Authorization) => {
      const headers = { ...base, Authorization: token, "Mcp-Session-Id": session, "Last-Event-ID": last };
      const limit = AbortSignal.timeout(20000);
      const answer = await fetch(url, { headers, signal: limit });
      let text = "";
      try {
        for await (const part of answer.body) {
          text += Buffer.from(part).toString();
          if (text.includes("allowed-by-rule")) break;
        }
      } catch (e) {
        text += String(e);
      }
      return { status: answer.status, text };
    };
    const resumed = await get(id);
    const foreign = await get(id, "Bearer wrong");
    const [name] = id.split(".");
    const guessed = await get(`${name.slice(0, -4)}0000.1`).catch((e) => ({ status: 0, text: String(e) }));
    return { id, resumed, foreign, guessed };
  },
};

const result = await cases[process.argv[2]]();
console.log(JSON.stringify({ ...result, problems: frames.problems, validated: frames.methods.length }));
process.exit(0);
