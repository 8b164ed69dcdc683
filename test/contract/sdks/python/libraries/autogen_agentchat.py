import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

model_info = {
    "family": "unknown",
    "vision": False,
    "function_calling": False,
    "json_output": False,
    "structured_output": False,
}


def connect(base_url, key, model):
    def agent(**more):
        client = OpenAIChatCompletionClient(
            model=model, base_url=base_url, api_key=key, max_retries=0, model_info=model_info
        )
        return AssistantAgent("helper", model_client=client, system_message=None, **more)

    async def whole(text):
        return (await agent().run(task=text)).messages[-1].content

    async def stream(text):
        events = agent(model_client_stream=True).run_stream(task=text)
        return "".join(
            [event.content async for event in events if getattr(event, "type", "") == "ModelClientStreamingChunkEvent"]
        )

    async def thoughts(text):
        messages = (await agent().run(task=text)).messages
        return "".join(message.content for message in messages if message.type == "ThoughtEvent")

    return {
        "whole": lambda text: asyncio.run(whole(text)),
        "stream": lambda text: asyncio.run(stream(text)),
        "thoughts": lambda text: asyncio.run(thoughts(text)),
    }
