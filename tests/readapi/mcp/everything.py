"""A server with the fixtures that the official conformance suite asks for. Only tests serve it.

It keeps sessions and streams its answers, which the service's own server does not: so the mounting is shown
to carry both. Names and answers are those of the suite's scenarios.
"""

import asyncio
import base64
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types import BlobResourceContents as Blob
from PIL import Image

Context = ServerRequestContext[Any, Any]
Work = Callable[[Context, dict[str, Any]], Awaitable[list[ContentBlock]]]

STEP_SECONDS = 0.05
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{n}", "title": f"{n}. option"} for n in (1, 2, 3)],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{n}", "title": f"{n}. choice"} for n in (1, 2)]},
    },
}


def picture() -> str:
    """A small PNG in base64."""
    made = io.BytesIO()
    Image.new("RGB", (1, 1), "red").save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode()


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


def written(uri: str, said: str, mime_type: str = "text/plain") -> TextResourceContents:
    return TextResourceContents(uri=uri, mime_type=mime_type, text=said)


def embedded(uri: str, said: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=written(uri, said, mime_type))


async def say(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    return [text("This is a simple text response for testing.")]


async def show(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    return [ImageContent(type="image", data=picture(), mime_type="image/png")]


async def play(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    return [AudioContent(type="audio", data=base64.b64encode(b"RIFF").decode(), mime_type="audio/wav")]


async def embed(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


async def mix(ctx: Context, sent: dict[str, Any]) -> list[ContentBlock]:
    told = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", told, "application/json")
    return [text("Multiple content types test:"), *await show(ctx, sent), resource]


async def fail(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    raise RuntimeError("This tool intentionally returns an error for testing")


async def idle(_: Context, __: dict[str, Any]) -> list[ContentBlock]:
    await asyncio.Event().wait()
    raise AssertionError("it never ends by itself")


async def log(ctx: Context, _: dict[str, Any]) -> list[ContentBlock]:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await asyncio.sleep(STEP_SECONDS)
    return [text("logged")]


async def progress(ctx: Context, _: dict[str, Any]) -> list[ContentBlock]:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(STEP_SECONDS)
    return [text("done")]


async def sample(ctx: Context, sent: dict[str, Any]) -> list[ContentBlock]:
    message = SamplingMessage(role="user", content=text(sent["prompt"]))
    made = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return [text(f"LLM response: {made.content}")]


def elicit(properties: dict[str, Any]) -> Work:
    """Ask the client's user for these."""
    schema = {"type": "object", "properties": properties, "required": []}

    async def ask(ctx: Context, sent: dict[str, Any]) -> list[ContentBlock]:
        asked = sent.get("message", "Fill this in")
        made = await ctx.session.elicit_form(asked, schema, ctx.request_id)
        return [text(f"Elicitation completed: action={made.action}, content={json.dumps(made.content)}")]

    return ask


TOOLS: dict[str, Work] = {
    "test_simple_text": say,
    "test_image_content": show,
    "test_audio_content": play,
    "test_embedded_resource": embed,
    "test_multiple_content_types": mix,
    "test_error_handling": fail,
    "test_tool_with_logging": log,
    "test_tool_with_progress": progress,
    "test_sampling": sample,
    "test_elicitation": elicit({"username": {"type": "string"}, "email": {"type": "string"}}),
    "test_elicitation_sep1034_defaults": elicit(DEFAULTS),
    "test_elicitation_sep1330_enums": elicit(ENUMS),
    "json_schema_2020_12_tool": say,
    "test_reconnection": say,
    "idle": idle,
}
PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def list_tools(_: Context, __: object) -> ListToolsResult:
    anything: dict[str, Any] = {"type": "object"}
    return ListToolsResult(
        tools=[
            Tool(name=name, description=name, input_schema=SCHEMA_2020 if "2020" in name else anything)
            for name in TOOLS
        ]
    )


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    try:
        return CallToolResult(content=await TOOLS[params.name](ctx, params.arguments or {}))
    except RuntimeError as error:
        return CallToolResult(content=[text(str(error))], is_error=True)


async def list_resources(_: Context, __: object) -> ListResourcesResult:
    names = ("static-text", "static-binary", "watched-resource")
    return ListResourcesResult(resources=[Resource(uri=f"test://{name}", name=name) for name in names])


async def read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = str(params.uri)
    if uri == "test://static-binary":
        return ReadResourceResult(contents=[Blob(uri=uri, mime_type="image/png", blob=picture())])
    if uri.startswith("test://template/"):
        number = uri.split("/")[3]
        told = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        return ReadResourceResult(contents=[written(uri, told, "application/json")])
    return ReadResourceResult(contents=[written(uri, "This is the content of the static text resource.")])


async def list_prompts(_: Context, __: object) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=name,
                description=name,
                arguments=[PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(_: Context, params: GetPromptRequestParams) -> GetPromptResult:
    sent = params.arguments or {}
    said: list[ContentBlock] = [text("This is a simple prompt for testing.")]
    if params.name == "test_prompt_with_arguments":
        said = [text(f"Prompt with arguments: arg1='{sent['arg1']}', arg2='{sent['arg2']}'")]
    elif params.name == "test_prompt_with_embedded_resource":
        said.insert(0, embedded(sent["resourceUri"], "Embedded resource content for testing."))
    elif params.name == "test_prompt_with_image":
        said.insert(0, ImageContent(type="image", data=picture(), mime_type="image/png"))
    return GetPromptResult(messages=[PromptMessage(role="user", content=content) for content in said])


async def complete(_: Context, __: CompleteRequestParams) -> CompleteResult:
    return CompleteResult(completion=Completion(values=["paris", "park"], total=2, has_more=False))


async def accept(_: Context, __: object) -> EmptyResult:
    return EmptyResult()


def manager(**options: Any) -> StreamableHTTPSessionManager:
    """The server with sessions and streams; `options` are those of the library."""
    server = Server[Any](
        "everything",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=accept,
    )
    return StreamableHTTPSessionManager(server, **options)
