"""Drives robota with the official Python Agent SDK. Usage: host.py CASE; prints one JSON object."""

import asyncio
import json
import os
import sys

from claude_agent_sdk import (
    AssistantMessage,
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookEventMessage,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)


def options(**more):
    return ClaudeAgentOptions(cli_path=os.environ["ROBOTA"], cwd=os.environ["PROJECT"], **more)


def seen(messages):
    """The parts of the messages that the test compares."""
    init = [m for m in messages if isinstance(m, SystemMessage) and m.subtype == "init"]
    results = [m for m in messages if isinstance(m, ResultMessage)]
    assistant = [m for m in messages if isinstance(m, AssistantMessage)]
    return {
        "kinds": [type(m).__name__ for m in messages],
        "text": "".join(
            b.text for m in assistant for b in m.content if isinstance(b, TextBlock)
        ),
        "calls": [b.name for m in assistant for b in m.content if isinstance(b, ToolUseBlock)],
        "models": [m.model for m in assistant],
        "session": init[0].data["session_id"] if init else None,
        "servers": init[0].data["mcp_servers"] if init else None,
        "results": [
            {
                "subtype": r.subtype,
                "is_error": r.is_error,
                "result": r.result,
                "turns": r.num_turns,
                "cost": r.total_cost_usd,
                "structured": r.structured_output,
                "denials": r.permission_denials,
                "errors": r.errors,
                "reason": r.terminal_reason,
                "session": r.session_id,
            }
            for r in results
        ],
    }


async def collect(prompt, opts):
    """One query. A failed result also raises, after its message."""
    messages, error = [], None
    try:
        async for message in query(prompt=prompt, options=opts):
            messages.append(message)
    except Exception as e:  # noqa: BLE001
        error = str(e)
    return {**seen(messages), "error": error}


async def ask(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def case_query():
    return await collect("Say hello", options())


async def case_client():
    async with ClaudeSDKClient(options(include_partial_messages=True)) as client:
        info = await client.get_server_info()
        first = await ask(client, "one")
        await client.set_model("claude-opus-5")
        await client.set_permission_mode("acceptEdits")
        second = await ask(client, "two")
        usage = await client.get_context_usage()
    return {
        "info": sorted(info),
        "first": seen(first),
        "second": seen(second),
        "pieces": sum(isinstance(m, StreamEvent) for m in first),
        "mode": [m.data["permissionMode"] for m in second if getattr(m, "subtype", "") == "init"],
        "context": usage["totalTokens"],
    }


async def case_interrupt():
    async with ClaudeSDKClient(options(include_partial_messages=True)) as client:
        await client.query("long")
        messages = []
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                await client.interrupt()
        after = await ask(client, "again")
    return {"stopped": seen(messages), "after": seen(after)}


async def case_permissions():
    asked = []

    async def can_use_tool(name, tool_input, context):
        command = tool_input["command"]
        asked.append(
            {
                "name": name,
                "command": command,
                "id": context.tool_use_id,
                "suggestions": [s.to_dict() for s in context.suggestions],
            }
        )
        if "denied" in command:
            return PermissionResultDeny(message="not this one")
        if "changed" in command:
            return PermissionResultAllow(updated_input={"command": "touch made-instead"})
        return PermissionResultAllow()

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        messages = await ask(client, "run the commands")
    return {"asked": asked, **seen(messages)}


async def case_deny_and_interrupt():
    async def can_use_tool(name, tool_input, context):
        return PermissionResultDeny(message="stop everything", interrupt=True)

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        messages = await ask(client, "run it")
    return seen(messages)


async def case_hooks():
    calls = []

    async def note(data, tool_use_id, context):
        calls.append([data["hook_event_name"], data.get("tool_name"), tool_use_id])
        return {}

    async def deny(data, tool_use_id, context):
        calls.append([data["hook_event_name"], data.get("tool_name"), tool_use_id])
        if "forbidden" in json.dumps(data["tool_input"]):
            return {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "the host forbids it",
                }
            }
        return {}

    hooks = {
        "UserPromptSubmit": [HookMatcher(hooks=[note])],
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[deny])],
        "PostToolUse": [HookMatcher(hooks=[note])],
        "Stop": [HookMatcher(hooks=[note])],
    }
    opts = options(hooks=hooks, permission_mode="bypassPermissions")
    async with ClaudeSDKClient(opts) as client:
        messages = await ask(client, "use tools")
    return {"hooks": calls, **seen(messages)}


async def case_stop_hook():
    async def stop(data, tool_use_id, context):
        return {"continue_": False, "stopReason": "enough"}

    opts = options(
        hooks={"PreToolUse": [HookMatcher(hooks=[stop])]}, permission_mode="bypassPermissions"
    )
    async with ClaudeSDKClient(opts) as client:
        messages = await ask(client, "run it")
    return seen(messages)


async def case_resume():
    first = await collect("one", options())
    resumed = await collect("two", options(resume=first["session"]))
    forked = await collect("three", options(resume=first["session"], fork_session=True))
    missing = await collect("four", options(resume="00000000-0000-4000-8000-000000000000"))
    return {"first": first, "resumed": resumed, "forked": forked, "missing": missing}


async def case_structured():
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "integer"}},
        "required": ["answer"],
    }
    return await collect(
        "what is it?", options(output_format={"type": "json_schema", "schema": schema})
    )


async def case_supported():
    agent = AgentDefinition(description="Reviews code", prompt="Review.", model="opus")
    thinking = {"type": "disabled"}
    async with ClaudeSDKClient(options(agents={"reviewer": agent}, thinking=thinking)) as client:
        info = await client.get_server_info()
        await ask(client, "hello")
    return {
        "commands": info["commands"],
        "agents": info["agents"],
        "models": info["models"],
        "account": info["account"],
        "styles": info["available_output_styles"],
    }


async def case_budget():
    return await collect("spend", options(max_budget_usd=0.00001))


async def case_turns():
    return await collect("work", options(max_turns=1))


def calc():
    """A server in this program."""

    @tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(args):
        return {"content": [{"type": "text", "text": f"the sum is {args['a'] + args['b']}"}]}

    return create_sdk_mcp_server(name="calc", tools=[add])


async def case_mcp():
    return await collect(
        "add", options(mcp_servers={"calc": calc()}, allowed_tools=["mcp__calc__add"])
    )


async def case_servers():
    statuses = []
    async with ClaudeSDKClient(options(mcp_servers={"calc": calc()})) as client:

        async def note():
            servers = (await client.get_mcp_status())["mcpServers"]
            statuses.extend(server["status"] for server in servers)

        await ask(client, "one")
        await note()
        await client.toggle_mcp_server("calc", False)
        await note()
        await client.toggle_mcp_server("calc", True)
        await note()
    return {"statuses": statuses}


async def case_rewind():
    """The published way to take files back: resume with an empty prompt, rewind at its first message."""
    file = os.path.join(os.environ["PROJECT"], "a.txt")
    checkpoints = dict(enable_file_checkpointing=True, permission_mode="acceptEdits")
    first = options(**checkpoints, extra_args={"replay-user-messages": None})
    async with ClaudeSDKClient(first) as client:
        messages = await ask(client, "write the file")
    ids = [m.uuid for m in messages if isinstance(m, UserMessage) and m.uuid]
    written = os.path.exists(file)
    session = seen(messages)["session"]
    async with ClaudeSDKClient(options(**checkpoints, resume=session)) as client:
        await client.query("")
        async for _ in client.receive_response():
            await client.rewind_files(ids[0])
            break
    return {"written": written, "exists": os.path.exists(file)}


async def case_hook_events():
    async def note(data, tool_use_id, context):
        return {"systemMessage": "noted"}

    hooks = {"PostToolUse": [HookMatcher(matcher="Bash", hooks=[note])]}
    opts = options(hooks=hooks, permission_mode="bypassPermissions", include_hook_events=True)
    async with ClaudeSDKClient(opts) as client:
        messages = await ask(client, "use tools")
    events = [m.data for m in messages if isinstance(m, HookEventMessage)]
    return {"events": events, **seen(messages)}


async def case_questions():
    asked = []

    async def can_use_tool(name, tool_input, context):
        asked.append({"name": name, "id": context.tool_use_id, "input": tool_input})
        answers = {q["question"]: q["options"][1]["label"] for q in tool_input["questions"]}
        return PermissionResultAllow(updated_input={**tool_input, "answers": answers})

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        messages = await ask(client, "ask me")
    return {"asked": asked, **seen(messages)}


async def case_skills():
    return await collect("hello", options(skills=["one"]))


print(json.dumps(asyncio.run(globals()["case_" + sys.argv[1]]())))
