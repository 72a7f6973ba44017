// Validates messages against the JSON Schema of MCP. It is made from the types of the specification, which
// the official TypeScript SDK contains, in the way in which the specification makes its own. As a program:
// mcp_schema.mjs SIDE FILE validates the messages of "client" or "server" that mcp_record.mjs recorded, and
// prints one JSON object. MCP_SCHEMA is the folder of the installed packages.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = process.env.MCP_SCHEMA;
const require = createRequire(folder + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

async function definitions() {
  const made = join(folder, "schema.json");
  if (!existsSync(made)) {
    const { createGenerator } = await load("ts-json-schema-generator");
    const path = join(folder, "node_modules/@modelcontextprotocol/sdk/dist/esm/spec.types.d.ts");
    const options = { path, type: "*", skipTypeCheck: true, additionalProperties: true };
    // Renamed when it is complete, because several tests may make it at the same time.
    const unfinished = `${made}.${process.pid}`;
    writeFileSync(unfinished, JSON.stringify(createGenerator(options).createSchema("*")));
    renameSync(unfinished, made);
  }
  return JSON.parse(readFileSync(made, "utf8"));
}

/** Returns functions that take the messages of both sides, in order; those of `checked` are validated. */
export async function validator(checked) {
  const schema = await definitions();
  const Ajv = (await load("ajv")).default;
  const ajv = new (Ajv.default ?? Ajv)({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(schema, "mcp");
  const names = Object.keys(schema.definitions);
  const method = (name) => schema.definitions[name].properties?.method?.const;
  const of = (wanted, ending) => names.find((name) => name.endsWith(ending) && method(name) === wanted);
  const problems = [];
  const methods = [];
  const requests = { client: new Map(), server: new Map() };
  const check = (name, value) => {
    const valid = name && ajv.getSchema(`mcp#/definitions/${name}`);
    if (!valid) problems.push({ problem: "no definition", name, value });
    else if (!valid(value)) problems.push({ name, value, errors: valid.errors });
  };
  const take = (side) => (message) => {
    const other = side === "client" ? "server" : "client";
    if (message.method && message.id !== undefined) requests[side].set(message.id, message.method);
    const asked = message.method ? undefined : requests[other].get(message.id);
    if (side !== checked) return;
    methods.push(message.method ?? `answer to ${asked}`);
    if (message.jsonrpc !== "2.0") problems.push({ problem: "jsonrpc", value: message });
    if (message.method && message.id !== undefined) check(of(message.method, "Request"), message);
    else if (message.method) check(of(message.method, "Notification"), message);
    else if (message.error) check("Error", message.error);
    else {
      const result = of(asked, "Request")?.replace(/Request$/, "Result");
      check(names.includes(result) ? result : "EmptyResult", message.result);
    }
  };
  return { client: take("client"), server: take("server"), problems, methods };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [side, file] = process.argv.slice(2);
  const frames = await validator(side);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  for (const line of lines) {
    const { from, message } = JSON.parse(line);
    frames[from](message);
  }
  console.log(JSON.stringify({ problems: frames.problems, methods: frames.methods }));
}
