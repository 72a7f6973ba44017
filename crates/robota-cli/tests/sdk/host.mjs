// Drives robota with the official TypeScript Agent SDK. Usage: host.mjs CASE; prints one JSON object.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The SDK is installed in the folder in which the test starts this script.
const require = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { query, tool, createSdkMcpServer } = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");

const options = (more = {}) => ({
  pathToClaudeCodeExecutable: process.env.ROBOTA,
  cwd: process.env.PROJECT,
  ...more,
});

/** The parts of the messages that the test compares. */
function seen(messages) {
  const of = (type) => messages.filter((m) => m.type === type);
  const blocks = of("assistant").flatMap((m) => m.message.content);
  const init = messages.find((m) => m.type === "system" && m.subtype === "init");
  return {
    kinds: messages.map((m) => (m.subtype ? `${m.type}/${m.subtype}` : m.type)),
    text: blocks.filter((b) => b.type === "text").map((b) => b.text).join(""),
    calls: blocks.filter((b) => b.type === "tool_use").map((b) => b.name),
    models: of("assistant").map((m) => m.message.model),
    session: init?.session_id ?? null,
    servers: init?.mcp_servers ?? null,
    results: of("result").map((r) => ({
      subtype: r.subtype,
      is_error: r.is_error,
      result: r.result ?? null,
      turns: r.num_turns,
      cost: r.total_cost_usd,
      structured: r.structured_output ?? null,
      denials: r.permission_denials,
      errors: r.errors ?? null,
      reason: r.terminal_reason,
      session: r.session_id,
    })),
  };
}

/** One query. A failed result also throws, after its message. */
async function collect(prompt, opts) {
  const messages = [];
  let error = null;
  try {
    for await (const message of query({ prompt, options: opts })) messages.push(message);
  } catch (e) {
    error = String(e.message ?? e);
  }
  return { ...seen(messages), error };
}

/** A prompt that can be sent piece by piece, and the messages up to the next result. */
function streaming(opts) {
  const waiting = [];
  let wake = () => {};
  let closed = false;
  async function* prompts() {
    while (true) {
      if (waiting.length > 0) {
        const content = waiting.shift();
        yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
      } else if (closed) return;
      else await new Promise((resolve) => (wake = resolve));
    }
  }
  const session = query({ prompt: prompts(), options: opts });
  const send = (text) => {
    waiting.push(text);
    wake();
  };
  const close = () => {
    closed = true;
    wake();
  };
  async function until(stop = (m) => m.type === "result", each = async () => {}) {
    const messages = [];
    while (true) {
      const { value, done } = await session.next();
      if (done) return messages;
      messages.push(value);
      await each(value);
      if (stop(value)) return messages;
    }
  }
  return { session, send, close, until };
}

/** A server in this program. */
const calc = () =>
  createSdkMcpServer({
    name: "calc",
    tools: [
      tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
        content: [{ type: "text", text: `the sum is ${a + b}` }],
      })),
    ],
  });

const cases = {
  query: () => collect("Say hello", options()),

  async client() {
    const s = streaming(options({ includePartialMessages: true }));
    s.send("one");
    const first = await s.until();
    await s.session.setModel("claude-opus-5");
    await s.session.setPermissionMode("acceptEdits");
    s.send("two");
    const second = await s.until();
    const info = await s.session.initializationResult();
    const models = await s.session.supportedModels();
    const context = await s.session.getContextUsage();
    s.close();
    await s.until(() => false);
    return {
      info: Object.keys(info).sort(),
      first: seen(first),
      second: seen(second),
      pieces: first.filter((m) => m.type === "stream_event").length,
      mode: second.filter((m) => m.subtype === "init").map((m) => m.permissionMode),
      models: models.length,
      context: context.totalTokens,
    };
  },

  async interrupt() {
    const s = streaming(options({ includePartialMessages: true }));
    s.send("long");
    const stopped = await s.until(undefined, async (m) => {
      if (m.type === "stream_event" && m.event.type === "content_block_delta")
        await s.session.interrupt();
    });
    s.send("again");
    const after = await s.until();
    s.close();
    await s.until(() => false);
    return { stopped: seen(stopped), after: seen(after) };
  },

  async permissions() {
    const asked = [];
    const canUseTool = async (name, input, context) => {
      const { command } = input;
      const { toolUseID: id, suggestions } = context;
      asked.push({ name, command, id, suggestions });
      if (command.includes("denied")) return { behavior: "deny", message: "not this one" };
      if (command.includes("changed"))
        return { behavior: "allow", updatedInput: { command: "touch made-instead" } };
      return { behavior: "allow" };
    };
    return { asked, ...(await collect("run the commands", options({ canUseTool }))), };
  },

  deny_and_interrupt: () =>
    collect(
      "run it",
      options({
        canUseTool: async () => ({ behavior: "deny", message: "stop everything", interrupt: true }),
      }),
    ),

  async hooks() {
    const hooks = [];
    const note = async (data, id) => {
      hooks.push([data.hook_event_name, data.tool_name ?? null, id ?? null]);
      return {};
    };
    const deny = async (data, id) => {
      await note(data, id);
      if (!JSON.stringify(data.tool_input).includes("forbidden")) return {};
      return {
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "deny",
          permissionDecisionReason: "the host forbids it",
        },
      };
    };
    const result = await collect(
      "use tools",
      options({
        hooks: {
          UserPromptSubmit: [{ hooks: [note] }],
          PreToolUse: [{ matcher: "Bash", hooks: [deny] }],
          PostToolUse: [{ hooks: [note] }],
          Stop: [{ hooks: [note] }],
        },
        permissionMode: "bypassPermissions",
        allowDangerouslySkipPermissions: true,
      }),
    );
    return { hooks, ...result };
  },

  stop_hook: () =>
    collect(
      "run it",
      options({
        hooks: { PreToolUse: [{ hooks: [async () => ({ continue: false, stopReason: "enough" })] }] },
        permissionMode: "bypassPermissions",
        allowDangerouslySkipPermissions: true,
      }),
    ),

  async resume() {
    const first = await collect("one", options());
    const resumed = await collect("two", options({ resume: first.session }));
    const forked = await collect("three", options({ resume: first.session, forkSession: true }));
    const missing = await collect(
      "four",
      options({ resume: "00000000-0000-4000-8000-000000000000" }),
    );
    return { first, resumed, forked, missing };
  },

  structured: () =>
    collect(
      "what is it?",
      options({
        outputFormat: {
          type: "json_schema",
          schema: {
            type: "object",
            properties: { answer: { type: "integer" } },
            required: ["answer"],
          },
        },
      }),
    ),

  async supported() {
    const agents = { reviewer: { description: "Reviews code", prompt: "Review.", model: "opus" } };
    const s = streaming(options({ agents, thinking: { type: "enabled", budgetTokens: 2000 } }));
    const all = {
      commands: await s.session.supportedCommands(),
      agents: await s.session.supportedAgents(),
      models: await s.session.supportedModels(),
      account: await s.session.accountInfo(),
      styles: (await s.session.initializationResult()).available_output_styles,
    };
    await s.session.setMaxThinkingTokens(0);
    s.send("hello");
    await s.until();
    s.close();
    await s.until(() => false);
    return all;
  },

  budget: () => collect("spend", options({ maxBudgetUsd: 0.00001 })),

  turns: () => collect("work", options({ maxTurns: 1 })),

  mcp: () =>
    collect("add", options({ mcpServers: { calc: calc() }, allowedTools: ["mcp__calc__add"] })),

  async servers() {
    const s = streaming(options());
    s.send("one");
    await s.until();
    const statuses = [];
    const note = async () => {
      const servers = await s.session.mcpServerStatus();
      statuses.push(servers.find((server) => server.name === "calc")?.status ?? null);
    };
    const missing = { command: "/no/such/program" };
    const set = await s.session.setMcpServers({ calc: calc(), missing });
    await note();
    await s.session.toggleMcpServer("calc", false);
    await note();
    await s.session.toggleMcpServer("calc", true);
    await note();
    const { removed } = set;
    const added = set.added.sort();
    const cleared = await s.session.setMcpServers({});
    s.close();
    await s.until(() => false);
    return { statuses, added, removed, failed: Object.keys(set.errors), cleared };
  },

  // The published way to take files back: resume with an empty prompt, rewind at its first message.
  async rewind() {
    const file = join(process.env.PROJECT, "a.txt");
    const checkpoints = { enableFileCheckpointing: true, permissionMode: "acceptEdits" };
    const replay = { extraArgs: { "replay-user-messages": null } };
    const messages = [];
    const first = options({ ...checkpoints, ...replay });
    for await (const m of query({ prompt: "write the file", options: first })) messages.push(m);
    const written = existsSync(file);
    const { uuid } = messages.find((m) => m.type === "user" && m.uuid);
    const { session } = seen(messages);
    const resumed = query({ prompt: "", options: options({ ...checkpoints, resume: session }) });
    for await (const _ of resumed) {
      await resumed.rewindFiles(uuid);
      break;
    }
    return { written, exists: existsSync(file) };
  },

  async hook_events() {
    const note = async () => ({ systemMessage: "noted" });
    const s = streaming(
      options({
        hooks: { PostToolUse: [{ matcher: "Bash", hooks: [note] }] },
        includeHookEvents: true,
        permissionMode: "bypassPermissions",
        allowDangerouslySkipPermissions: true,
      }),
    );
    s.send("use tools");
    const messages = await s.until();
    s.close();
    await s.until(() => false);
    const events = messages.filter((m) => m.subtype?.startsWith("hook_"));
    return { events, ...seen(messages) };
  },

  async questions() {
    const asked = [];
    const canUseTool = async (name, input, { toolUseID: id }) => {
      asked.push({ name, id, input });
      const answers = {};
      for (const q of input.questions) answers[q.question] = q.options[1].label;
      return { behavior: "allow", updatedInput: { ...input, answers } };
    };
    return { asked, ...(await collect("ask me", options({ canUseTool }))) };
  },

  skills: () => collect("hello", options({ skills: ["one"] })),
};

console.log(JSON.stringify(await cases[process.argv[2]]()));
process.exit(0);
