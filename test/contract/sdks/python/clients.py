"""Asks a service with one client library, and prints what its user gets, as JSON.

Usage: clients.py LIBRARY BASE_URL KEY MODEL
"""

import asyncio
import json
import os
import sys

library, base_url, key, model = sys.argv[1:5]
# Libraries report to their makers unless they are told not to.
os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LITELLM_LOCAL_MODEL_COST_MAP="True", DO_NOT_TRACK="1")


def with_openai():
    from openai import OpenAI

    client = OpenAI(base_url=base_url, api_key=key, max_retries=0)

    def messages(text):
        return [{"role": "user", "content": text}]

    def whole(text):
        return client.chat.completions.create(model=model, messages=messages(text)).choices[0].message.content

    def stream(text):
        chunks = client.chat.completions.create(model=model, messages=messages(text), stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    return whole, stream


def with_litellm():
    import litellm

    def ask(text, **more):
        return litellm.completion(
            model=f"openai/{model}",
            api_base=base_url,
            api_key=key,
            messages=[{"role": "user", "content": text}],
            num_retries=0,
            max_retries=0,
            **more,
        )

    def whole(text):
        return ask(text).choices[0].message.content

    def stream(text):
        return "".join(chunk.choices[0].delta.content or "" for chunk in ask(text, stream=True))

    return whole, stream


def with_langchain():
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(model=model, base_url=base_url, api_key=key, max_retries=0)
    return (
        lambda text: chat.invoke(text).content,
        lambda text: "".join(chunk.content for chunk in chat.stream(text)),
    )


def with_pydantic_ai():
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    def agent():
        client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return Agent(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)))

    async def streamed(text):
        async with agent().run_stream(text) as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    async def whole_of(text):
        return (await agent().run(text)).output

    return lambda text: asyncio.run(whole_of(text)), lambda text: asyncio.run(streamed(text))


def with_agents():
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    def agent():
        client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return Agent(name="helper", model=OpenAIChatCompletionsModel(model=model, openai_client=client))

    async def whole_of(text):
        return (await Runner.run(agent(), text)).final_output

    async def streamed(text):
        result = Runner.run_streamed(agent(), text)
        pieces = []
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                pieces.append(event.data.delta)
        return "".join(pieces)

    return lambda text: asyncio.run(whole_of(text)), lambda text: asyncio.run(streamed(text))


def with_smolagents():
    from smolagents import OpenAIServerModel

    chat = OpenAIServerModel(model_id=model, api_base=base_url, api_key=key, client_kwargs={"max_retries": 0})

    def messages(text):
        return [{"role": "user", "content": [{"type": "text", "text": text}]}]

    return (
        lambda text: chat.generate(messages(text)).content,
        lambda text: "".join(delta.content or "" for delta in chat.generate_stream(messages(text))),
    )


def with_haystack():
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.utils import Secret

    def ask(text, callback=None):
        chat = OpenAIChatGenerator(
            model=model, api_base_url=base_url, api_key=Secret.from_token(key), max_retries=0, streaming_callback=callback
        )
        return chat.run([ChatMessage.from_user(text)])["replies"][0].text

    return ask, lambda text: ask(text, lambda chunk: None)


libraries = {
    "openai": with_openai,
    "litellm": with_litellm,
    "langchain-openai": with_langchain,
    "pydantic-ai": with_pydantic_ai,
    "openai-agents": with_agents,
    "smolagents": with_smolagents,
    "haystack-ai": with_haystack,
}


def outcome(act, text):
    try:
        return {"said": act(text)}
    except Exception as error:  # What a user sees is the class.
        return {"error": type(error).__name__}


whole, stream = libraries[library]()
print(
    json.dumps(
        {
            "whole": outcome(whole, "hi"),
            "streamed": outcome(stream, "hi there"),
            "broken": outcome(stream, "break off"),
            "failed": outcome(whole, "fail 502"),
        }
    )
)
