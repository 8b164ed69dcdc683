import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI


def connect(base_url, key, model):
    set_tracing_disabled(True)

    def agent():
        client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return Agent(name="helper", model=OpenAIChatCompletionsModel(model=model, openai_client=client))

    async def whole(text):
        return (await Runner.run(agent(), text)).final_output

    async def stream(text):
        pieces = []
        async for event in Runner.run_streamed(agent(), text).stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                pieces.append(event.data.delta)
        return "".join(pieces)

    async def thoughts(text):
        items = (await Runner.run(agent(), text)).new_items
        return "".join(
            part.text for item in items if item.type == "reasoning_item" for part in item.raw_item.summary
        )

    return {
        "whole": lambda text: asyncio.run(whole(text)),
        "stream": lambda text: asyncio.run(stream(text)),
        "thoughts": lambda text: asyncio.run(thoughts(text)),
    }
