"""Drives `robota acp` with the official Python ACP client. Usage: acp_client.py CASE; prints one JSON object."""

import asyncio
import json
import os
import sys

import acp
from acp import schema

CWD = os.environ["PROJECT"]


class Editor(acp.Client):
    def __init__(self, answer=None):
        self.answer = answer
        self.updates = []
        self.asked = []
        self.changed = asyncio.Event()

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update)
        self.changed.set()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append({"call": tool_call.tool_call_id, "options": [[o.option_id, o.kind] for o in options]})
        chosen = self.answer(len(self.asked) - 1) if self.answer else None
        if chosen is None:
            outcome = schema.DeniedOutcome(outcome="cancelled")
        else:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    def said(self):
        chunks = [u for u in self.updates if getattr(u, "session_update", "") == "agent_message_chunk"]
        return "".join(c.content.text for c in chunks)

    async def until_text(self):
        while not self.said():
            self.changed.clear()
            await self.changed.wait()


def started(editor):
    arguments = json.loads(os.environ.get("ARGS", "[]"))
    return acp.spawn_agent_process(
        editor, os.environ["ROBOTA"], "acp", *arguments, cwd=CWD, env=dict(os.environ)
    )


def text(words):
    return [acp.text_block(words)]


async def talk():
    editor = Editor()
    async with started(editor) as (agent, _):
        init = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        end = await agent.prompt(session_id=session.session_id, prompt=text("Hello."))
        return {"end": end.stop_reason, "said": editor.said(), "agent": init.agent_info.name,
                "modes": [m.id for m in session.modes.available_modes]}


async def permissions():
    answers = ["allow", "reject", "allow_always", "nonsense"]
    editor = Editor(lambda n: answers[n])
    async with started(editor) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        end = await agent.prompt(session_id=session.session_id, prompt=text("Work."))
        return {"end": end.stop_reason, "asked": editor.asked}


async def cancel():
    editor = Editor()
    async with started(editor) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        running = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=text("Hello.")))
        await editor.until_text()
        await agent.cancel(session_id=session.session_id)
        end = await running
        return {"end": end.stop_reason}


async def load():
    editor = Editor(lambda n: "allow")
    async with started(editor) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        await agent.prompt(session_id=session.session_id, prompt=text("Work."))
    second = Editor(lambda n: "allow")
    async with started(second) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        await agent.load_session(cwd=CWD, session_id=session.session_id, mcp_servers=[])
        replayed = second.said()
        end = await agent.prompt(session_id=session.session_id, prompt=text("Again."))
        return {"live": editor.said(), "replayed": replayed, "end": end.stop_reason}


async def modes():
    editor = Editor(lambda n: "reject")
    async with started(editor) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        await agent.set_session_mode(session_id=session.session_id, mode_id="acceptEdits")
        end = await agent.prompt(session_id=session.session_id, prompt=text("Write."))
        return {"end": end.stop_reason, "asked": len(editor.asked)}


CASES = {"talk": talk, "permissions": permissions, "cancel": cancel, "load": load, "modes": modes}
print(json.dumps(asyncio.run(CASES[sys.argv[1]]())))
