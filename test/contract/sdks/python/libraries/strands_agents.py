import asyncio

from strands import Agent
from strands.models.openai import OpenAIModel


def connect(base_url, key, model):
    def agent():
        client = {"base_url": base_url, "api_key": key, "max_retries": 0}
        return Agent(model=OpenAIModel(client_args=client, model_id=model), callback_handler=None)

    async def stream(text):
        return "".join([event["data"] async for event in agent().stream_async(text) if "data" in event])

    def thoughts(text):
        content = agent()(text).message["content"]
        return "".join(
            block["reasoningContent"]["reasoningText"]["text"] for block in content if "reasoningContent" in block
        )

    return {
        "whole": lambda text: str(agent()(text)).rstrip("\n"),
        "stream": lambda text: asyncio.run(stream(text)),
        "thoughts": thoughts,
    }
