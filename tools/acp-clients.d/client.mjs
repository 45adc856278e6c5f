// Drives `stablehand acp` as an editor that is built on the TypeScript SDK of the protocol.
//
// usage: node client.mjs STABLEHAND SHIMS FOLDER [CASE...], in a folder with the SDK and ajv
//
// Every frame that comes is checked against the JSON schema that the SDK has. SHIMS has the programs
// that `stablehand fake-agent --shims` wrote; FOLDER is for logs and work.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const Ajv = require("ajv/dist/2020").default;
const schema = JSON.parse(readFileSync(require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json")));

const [stablehand, shims, folder, ...chosen] = process.argv.slice(2);
const STEP_MS = 20_000;
const agent = acp.methods.agent;

// Keywords and formats of the schema's own that say nothing about what is valid.
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");
const isA = (name, value) => {
  const validate = ajv.getSchema(`acp#/$defs/${name}`);
  assert(validate(value), `no ${name}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
};
const ANSWERS = {
  "initialize": "InitializeResponse",
  "session/new": "NewSessionResponse",
  "session/load": "LoadSessionResponse",
  "session/list": "ListSessionsResponse",
  "session/prompt": "PromptResponse",
  "session/resume": "ResumeSessionResponse",
  "session/set_mode": "SetSessionModeResponse",
  "session/set_config_option": "SetSessionConfigOptionResponse",
  "session/close": "CloseSessionResponse",
};

function assert(isTrue, what) {
  if (!isTrue) throw new Error(typeof what === "string" ? what : JSON.stringify(what));
}

async function step(what, promise) {
  const timer = new AbortController();
  const late = sleep(STEP_MS, null, { signal: timer.signal }).then(() => {
    throw new Error(`waited in vain for ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

async function until(what, isTrue) {
  const ends = Date.now() + STEP_MS;
  while (!isTrue()) {
    assert(Date.now() < ends, `waited in vain for ${what}`);
    await sleep(20);
  }
}

/** Remembers what it is shown, and answers what it is asked with options of one kind. */
class Editor {
  constructor(choose) {
    this.choose = choose;
    this.frames = [];
    this.wrong = [];
    this.asked = new Map();
    this.questions = 0;
  }

  came(frame) {
    this.frames.push(frame);
    try {
      this.check(frame);
    } catch (error) {
      this.wrong.push(error.message);
    }
  }

  check(frame) {
    if (frame.method === "session/update") return isA("SessionNotification", frame.params);
    if (frame.method === "session/request_permission") return isA("RequestPermissionRequest", frame.params);
    if (frame.method === "$/cancel_request") return isA("CancelRequestNotification", frame.params);
    assert(frame.method === undefined, `unexpected ${frame.method}`);
    if (frame.error) return isA("Error", frame.error);
    isA(ANSWERS[this.asked.get(frame.id)], frame.result);
  }

  updates(kind) {
    const all = this.frames.filter((it) => it.method === "session/update").map((it) => it.params.update);
    return all.filter((it) => kind === undefined || it.sessionUpdate === kind);
  }

  text(kind = "agent_message_chunk") {
    return this.updates(kind).map((it) => it.content.text).join("");
  }

  /** The last status of each call, in the order in which they began. */
  tools() {
    const seen = new Map();
    for (const it of this.updates()) {
      if (it.sessionUpdate === "tool_call") {
        assert(!seen.has(it.toolCallId), `began twice: ${it.toolCallId}`);
        seen.set(it.toolCallId, it.status ?? "pending");
      } else if (it.sessionUpdate === "tool_call_update") {
        assert(seen.has(it.toolCallId), `an update before its call: ${it.toolCallId}`);
        if (it.status) seen.set(it.toolCallId, it.status);
      }
    }
    return [...seen.values()].join(" ");
  }
}

async function edit(args, { choose = "allow_once", scene = "hello", logs = "logs", capabilities = {} }, work) {
  const it = new Editor(choose);
  it.cwd = `${folder}/work`;
  mkdirSync(it.cwd, { recursive: true });
  const flags = ["--log-dir", `${folder}/${logs}`, "--idle-timeout", "2s", "--stop-grace", "1s"];
  const env = { HOME: `${folder}/home`, PATH: process.env.PATH, STABLEHAND_FAKE_SCENE: scene };
  const child = spawn(stablehand, ["acp", ...args, ...flags], {
    env,
    cwd: it.cwd,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const tap = (see) => new TransformStream({
    transform(frame, out) {
      see(frame);
      out.enqueue(frame);
    },
  });
  const sent = tap((frame) => frame.method && it.asked.set(frame.id, frame.method));
  void sent.readable.pipeTo(stream.writable).catch(() => {});
  const tapped = { writable: sent.writable, readable: stream.readable.pipeThrough(tap((frame) => it.came(frame))) };
  const app = acp.client({ name: "acp-clients" });
  app.onNotification(acp.methods.client.session.update, () => {});
  app.onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
    it.questions += 1;
    if (it.choose === "nothing") {
      await sleep(STEP_MS, null, { signal }).catch(() => {});
      return { outcome: { outcome: "cancelled" } };
    }
    const option = params.options.find((option) => option.kind === it.choose);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
  const connected = app.connectWith(tapped, async (cx) => {
    const ask = (method, params) => step(method, cx.request(method, params));
    it.hello = ask(agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities });
    // Both at once: an editor need not wait for the first answer.
    const session = ask(agent.session.new, { cwd: it.cwd, mcpServers: [] });
    it.hello = await it.hello;
    it.session = (await session).sessionId;
    it.ask = ask;
    it.prompt = (text, session = it.session) =>
      ask(agent.session.prompt, { sessionId: session, prompt: [{ type: "text", text }] });
    it.cancel = () => cx.notify(agent.session.cancel, { sessionId: it.session });
    await work(it);
  });
  try {
    await connected;
  } finally {
    child.stdin.end();
    await step("the end", ended);
  }
  assert(it.wrong.length === 0, `not as the schema says: ${it.wrong.join("\n")}`);
  return it;
}

const demo = ["--agent", "demo"];
const fake = (program, ...more) => ["--agent", program, "--agent-bin", `${shims}/${program}`, ...more];

const cases = {
  async allowAndReject() {
    for (const [choose, status] of [["allow_once", "completed"], ["reject_once", "failed"]]) {
      await edit(demo, { choose }, async (it) => {
        assert(it.hello.authMethods.length === 0, it.hello.authMethods);
        assert((await it.prompt("edit a file")).stopReason === "end_turn", "no end of the turn");
        assert(it.questions === 1 && it.tools() === status, `${choose}: ${it.questions} ${it.tools()}`);
        assert(it.updates("plan").length > 0 && it.text().length > 0, it.updates());
      });
    }
  },

  async cancelInATool() {
    await edit(demo, {}, async (it) => {
      const turn = it.prompt("long");
      await until("the command", () => it.questions === 1 && it.tools() === "in_progress");
      await sleep(300);
      await it.cancel();
      assert((await turn).stopReason === "cancelled", await turn);
      assert(it.tools() === "failed", it.tools());
    });
  },

  async cancelInAQuestion() {
    await edit(demo, { choose: "nothing" }, async (it) => {
      const turn = it.prompt("edit a file");
      await until("the question", () => it.questions === 1);
      await it.cancel();
      assert((await turn).stopReason === "cancelled", await turn);
      assert(it.tools() !== "completed", it.tools());
    });
  },

  async load() {
    const first = await edit(demo, { logs: "load" }, async (it) => {
      await it.prompt("edit a file");
    });
    await edit(demo, { logs: "load" }, async (it) => {
      const listed = await it.ask(agent.session.list, {});
      assert(listed.sessions.some((info) => info.sessionId === first.session), listed);
      await it.ask(agent.session.load, { sessionId: first.session, cwd: it.cwd, mcpServers: [] });
      assert(it.text("user_message_chunk") === "edit a file", it.updates());
      assert(it.text() === first.text() && it.tools() === first.tools(), it.text());
      assert((await it.prompt("edit a file", first.session)).stopReason === "end_turn", "no second turn");
    });
  },

  async settings() {
    await edit(demo, {}, async (it) => {
      await it.ask(agent.session.setMode, { sessionId: it.session, modeId: "plan" });
      const option = { sessionId: it.session, configId: "mode", value: "agent" };
      const set = await it.ask(agent.session.setConfigOption, option);
      assert(set.configOptions.length > 0, set);
      assert((await it.prompt("/stats")).stopReason === "end_turn", "no answer to a command");
      await it.ask(agent.session.close, { sessionId: it.session });
    });
  },

  /** What is known to be wrong reaches an editor that has a place for it. */
  async notices() {
    const capabilities = { session: { notices: {} } };
    for (const [scene, isError] of [["retry-then-ok", false], ["stall", true]]) {
      await edit(fake("claude"), { scene, capabilities, logs: "notices" }, async (it) => {
        const error = await it.prompt("go").then(() => undefined, (error) => error);
        assert((error !== undefined) === isError, `${scene}: ${error}`);
        const severities = it.updates("notice").map((notice) => notice.severity);
        assert(severities.includes(isError ? "error" : "info"), `${scene}: ${severities}`);
      });
    }
  },

  async everyAgent() {
    for (const args of [fake("claude"), fake("codex"), fake("gemini", "--acp"), fake("opencode", "--acp")]) {
      for (const scene of ["edit", "failing-tool"]) {
        await edit(args, { scene, logs: "agents" }, async (it) => {
          const done = await it.prompt("go");
          assert(done.stopReason === "end_turn" && it.text().length > 0, `${args} ${scene}`);
          assert(it.tools().split(" ").length === 1, `${args} ${scene}: ${it.tools()}`);
        });
      }
    }
  },
};

let failed = false;
for (const [name, run] of Object.entries(cases)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const began = Date.now();
  try {
    await run();
    console.log(`typescript: ${name}: ok (${((Date.now() - began) / 1000).toFixed(1)}s)`);
  } catch (error) {
    failed = true;
    console.log(`typescript: ${name}: FAILED: ${error.message ?? error}`);
  }
}
process.exit(failed ? 1 : 0);
