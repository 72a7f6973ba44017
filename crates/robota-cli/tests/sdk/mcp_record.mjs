// Runs an MCP server that speaks over its standard streams, and records what both sides say. Usage:
// mcp_record.mjs FILE COMMAND ARG…; each line of the file is {"from": "client" or "server", "message": …}.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [file, command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const forward = (from, input, output) => {
  const lines = createInterface({ input });
  lines.on("line", (line) => {
    // A line of the server that is no message is forwarded, and not recorded.
    try {
      appendFileSync(file, `${JSON.stringify({ from, message: JSON.parse(line) })}\n`);
    } catch { /* no message */ }
    output.write(`${line}\n`);
  });
  lines.on("close", () => output.end());
};
forward("client", process.stdin, server.stdin);
forward("server", server.stdout, process.stdout);
server.on("exit", (code) => process.exit(code ?? 1));
