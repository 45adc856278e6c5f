"""Drives `stablehand acp` as an editor that is built on the Python SDK of the protocol.

usage: client.py STABLEHAND SHIMS FOLDER [CASE...]

Every frame that comes is checked against the SDK's models. SHIMS has the programs that
`stablehand fake-agent --shims` wrote; FOLDER is for logs and work.
"""

import asyncio
import contextlib
import logging
import os
import pathlib
import sys
import time

import acp
from acp import schema

STABLEHAND, SHIMS, FOLDER = sys.argv[1:4]
STEP_SECONDS = 20

# What each method of ours answers with.
ANSWERS = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/prompt": schema.PromptResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/set_mode": schema.SetSessionModeResponse,
}
# Has no model in the SDK.
UNKNOWN_UPDATES = {"notice"}


class Editor(acp.Client):
    """Remembers what it is shown, and answers what it is asked with options of one kind."""

    def __init__(self, choose):
        self.choose = choose
        self.frames = []
        self.asked = {}
        self.wrong = []
        self.questions = 0
        self.pending = asyncio.Event()

    def observe(self, event):
        message = event.message
        if event.direction.value == "outgoing":
            if "method" in message and "id" in message:
                self.asked[message["id"]] = message["method"]
            return
        self.frames.append(message)
        try:
            self.check(message)
        except Exception as error:  # noqa: BLE001: whatever is wrong with it is told
            self.wrong.append(f"{error}\n  in {message}")

    def check(self, message):
        assert message.get("jsonrpc") == "2.0", "no version"
        method = message.get("method")
        if method == "session/update":
            if message["params"]["update"]["sessionUpdate"] not in UNKNOWN_UPDATES:
                schema.SessionNotification.model_validate(message["params"])
        elif method == "session/request_permission":
            schema.RequestPermissionRequest.model_validate(message["params"])
        elif method == "$/cancel_request":
            assert set(message["params"]) >= {"requestId"}
        elif method is not None:
            raise AssertionError(f"unexpected {method}")
        elif "error" in message:
            schema.Error.model_validate(message["error"])
        else:
            ANSWERS[self.asked[message["id"]]].model_validate(message["result"])

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.questions += 1
        self.pending.set()
        if self.choose is None:
            await asyncio.sleep(STEP_SECONDS)
        if self.choose == "cancelled":
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        option = next(it for it in options if it.kind == self.choose)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **kwargs):
        pass

    def updates(self, kind=None):
        all_updates = [it["params"]["update"] for it in self.frames if it.get("method") == "session/update"]
        return [it for it in all_updates if kind in (None, it["sessionUpdate"])]

    def text(self, kind="agent_message_chunk"):
        return "".join(it["content"]["text"] for it in self.updates(kind))

    def tools(self):
        """The last status of each call, in the order in which they began."""
        seen = {}
        for update in self.updates():
            if update["sessionUpdate"] == "tool_call":
                assert update["toolCallId"] not in seen, f"began twice: {update}"
                seen[update["toolCallId"]] = update.get("status", "pending")
            elif update["sessionUpdate"] == "tool_call_update":
                assert update["toolCallId"] in seen, f"an update before its call: {update}"
                seen[update["toolCallId"]] = update.get("status") or seen[update["toolCallId"]]
        return list(seen.values())

    def answer_is_last(self, method):
        """Nothing about a turn, or about history, may come behind the answer that ends it."""
        at = max(i for i, it in enumerate(self.frames) if "method" not in it and self.asked.get(it["id"]) == method)
        late = [it["params"]["update"] for it in self.frames[at + 1 :] if it.get("method") == "session/update"]
        harmless = {"available_commands_update", "session_info_update", "config_option_update"}
        late = [it for it in late if it["sessionUpdate"] not in harmless]
        assert not late, f"behind the answer to {method}: {late}"


@contextlib.asynccontextmanager
async def editor(args, choose="allow_once", scene="hello", name="logs"):
    it = Editor(choose)
    work = pathlib.Path(FOLDER) / "work"
    work.mkdir(parents=True, exist_ok=True)
    command = [*args, "--log-dir", f"{FOLDER}/{name}", "--idle-timeout", "2s", "--stop-grace", "1s"]
    env = {"HOME": f"{FOLDER}/home", "PATH": os.environ["PATH"], "STABLEHAND_FAKE_SCENE": scene}
    spawned = acp.spawn_agent_process(it, STABLEHAND, "acp", *command, env=env, cwd=str(work), observers=[it.observe])
    async with spawned as (connection, process):
        it.hello = await step(connection.initialize(protocol_version=1))
        it.connection, it.work, it.process = connection, str(work), process
        yield it
    assert not it.wrong, "not as the schema says: " + "\n".join(it.wrong)


async def step(awaitable):
    return await asyncio.wait_for(awaitable, STEP_SECONDS)


async def prompt(it, session, text):
    return await step(it.connection.prompt(session_id=session, prompt=[acp.text_block(text)]))


async def new(it):
    return (await step(it.connection.new_session(cwd=it.work, mcp_servers=[]))).session_id


async def until(what, is_true):
    ends = time.monotonic() + STEP_SECONDS
    while not is_true():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        await asyncio.sleep(0.02)


def demo():
    return ["--agent", "demo"]


def fake(program, *more):
    agent = "cursor" if program == "cursor-agent" else program
    return ["--agent", agent, "--agent-bin", f"{SHIMS}/{program}", *more]


async def allow_and_reject():
    for kind, status in [("allow_once", "completed"), ("reject_once", "failed")]:
        async with editor(demo(), kind) as it:
            assert it.hello.auth_methods == [], it.hello.auth_methods
            session = await new(it)
            done = await prompt(it, session, "edit a file")
            assert done.stop_reason == "end_turn", done
            assert it.questions == 1 and it.tools() == [status], (kind, it.questions, it.tools())
            assert it.updates("plan") and it.updates("agent_thought_chunk") and it.text()
            content = [part for update in it.updates("tool_call_update") for part in update.get("content") or []]
            assert (kind == "allow_once") == any(part["type"] == "diff" for part in content), content
            it.answer_is_last("session/prompt")


async def every_agent():
    agents = [fake("cursor-agent"), fake("claude"), fake("codex"), fake("gemini", "--acp")]
    for scene, count in [("shell", 1), ("plan", 1)]:
        for agent in agents:
            async with editor(agent, scene=scene, name="agents") as it:
                session = await new(it)
                done = await prompt(it, session, "go")
                assert done.stop_reason == "end_turn", (agent, scene, done)
                assert len(it.tools()) == count, (agent, scene, it.tools())
                assert it.text(), (agent, scene)
                costs = [update["cost"]["currency"] for update in it.updates("usage_update")]
                assert costs == (["USD"] if "claude" in agent else []), (agent, costs)
                it.answer_is_last("session/prompt")


async def cancel_in_a_tool():
    async with editor(demo()) as it:
        session = await new(it)
        turn = asyncio.create_task(prompt(it, session, "long"))
        await until("the command", lambda: it.questions == 1 and "in_progress" in str(it.updates("tool_call_update")))
        await asyncio.sleep(0.3)
        await it.connection.cancel(session_id=session)
        done = await turn
        assert done.stop_reason == "cancelled", done
        assert it.tools() == ["failed"], it.tools()
        it.answer_is_last("session/prompt")
        again = await prompt(it, session, "edit a file")
        assert again.stop_reason == "end_turn", again


async def cancel_in_a_question():
    async with editor(demo(), None) as it:
        session = await new(it)
        turn = asyncio.create_task(prompt(it, session, "edit a file"))
        await step(it.pending.wait())
        await it.connection.cancel(session_id=session)
        done = await turn
        assert done.stop_reason == "cancelled", done
        assert "completed" not in it.tools(), it.tools()


async def load():
    async with editor(demo(), name="load") as it:
        session = await new(it)
        await prompt(it, session, "edit a file")
        said, thought = it.text(), it.text("agent_thought_chunk")
        tools = it.tools()
    async with editor(demo(), name="load") as it:
        listed = await step(it.connection.list_sessions())
        assert [info.session_id for info in listed.sessions] == [session], listed
        await step(it.connection.load_session(cwd=it.work, session_id=session, mcp_servers=[]))
        it.answer_is_last("session/load")
        assert it.text("user_message_chunk") == "edit a file", it.updates()
        assert (it.text(), it.text("agent_thought_chunk")) == (said, thought), it.text()
        assert it.tools() == tools, it.tools()
        assert it.updates()[0]["sessionUpdate"] == "user_message_chunk", it.updates()[0]
        again = await prompt(it, session, "edit a file")
        assert again.stop_reason == "end_turn", again
    async with editor(demo(), name="load") as it:
        await step(it.connection.resume_session(cwd=it.work, session_id=session, mcp_servers=[]))
        assert not it.text() and not it.text("user_message_chunk"), it.updates()


async def failures():
    """A failed turn is an error that says why; the session goes on."""
    for scene, code in [("error-auth", -32000), ("stall", -32603), ("crash", -32603)]:
        async with editor(fake("claude"), scene=scene, name="failures") as it:
            session = await new(it)
            try:
                done = await prompt(it, session, "go")
                raise AssertionError(f"{scene}: {done}")
            except acp.RequestError as error:
                assert error.code == code, (scene, error.code, str(error))
            assert "completed" not in it.tools(), (scene, it.tools())


async def recordings():
    """Whatever Cursor was seen to say is shown as the schema says; a program says it as it was recorded."""
    fixtures = pathlib.Path(__file__).parents[2] / "fixtures" / "cursor"
    program = pathlib.Path(FOLDER) / "cursor-agent"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nread -r name\nexec cat "{fixtures}/$name"\n')
    program.chmod(0o755)
    args = ["--agent", "cursor", "--agent-bin", str(program), "--exit-grace", "200ms"]
    async with editor(args, name="recordings") as it:
        names = sorted(path.name for path in fixtures.glob("*.ndjson"))
        for name in names:
            session = await new(it)
            with contextlib.suppress(acp.RequestError):
                await prompt(it, session, name)
        calls = it.updates("tool_call")
        kinds = {call.get("kind", "other") for call in calls}
        wanted = {"read", "edit", "delete", "search", "execute", "fetch", "other"}
        assert kinds >= wanted, wanted - kinds
        content = [part for update in it.updates() for part in update.get("content") or [] if isinstance(part, dict)]
        assert {part["type"] for part in content} >= {"content", "diff"}, content
        assert it.updates("plan") and len(calls) > len(names), len(calls)


async def through():
    command = f"{STABLEHAND} fake-agent --dialect acp --scene ask"
    for kind, status in [("allow_once", "completed"), ("reject_once", "failed")]:
        async with editor(["--through", command], kind, name="through") as it:
            session = await new(it)
            done = await prompt(it, session, "go")
            assert done.stop_reason == "end_turn", done
            assert it.questions == 1 and it.tools() == [status], (kind, it.questions, it.tools())


async def main():
    logging.disable(logging.CRITICAL)
    cases = [allow_and_reject, cancel_in_a_tool, cancel_in_a_question, load, through, failures, recordings, every_agent]
    chosen = [case for case in cases if not sys.argv[4:] or case.__name__ in sys.argv[4:]]
    failed = 0
    for case in chosen:
        began = time.monotonic()
        try:
            await asyncio.wait_for(case(), 60)
            print(f"python: {case.__name__}: ok ({time.monotonic() - began:.1f}s)", flush=True)
        except BaseException as error:  # noqa: BLE001: whatever it was, the next case runs
            failed += 1
            print(f"python: {case.__name__}: FAILED: {type(error).__name__}: {error}", flush=True)
    sys.exit(1 if failed else 0)


asyncio.run(main())
