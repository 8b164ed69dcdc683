import asyncio

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def connect(base_url, key, model):
    def agent():
        client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return Agent(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)))

    async def stream(text):
        async with agent().run_stream(text) as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    async def whole(text):
        return (await agent().run(text)).output

    async def thoughts(text):
        messages = (await agent().run(text)).all_messages()
        return "".join(part.content for part in messages[-1].parts if isinstance(part, ThinkingPart))

    return {
        "whole": lambda text: asyncio.run(whole(text)),
        "stream": lambda text: asyncio.run(stream(text)),
        "thoughts": lambda text: asyncio.run(thoughts(text)),
    }
