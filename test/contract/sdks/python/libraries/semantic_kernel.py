import asyncio

from openai import AsyncOpenAI
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory


def connect(base_url, key, model):
    settings = OpenAIChatPromptExecutionSettings()

    def chat():
        client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return OpenAIChatCompletion(ai_model_id=model, async_client=client)

    def history(text):
        history = ChatHistory()
        history.add_user_message(text)
        return history

    async def whole(text):
        return (await chat().get_chat_message_content(history(text), settings)).content

    async def stream(text):
        chunks = chat().get_streaming_chat_message_content(history(text), settings)
        return "".join([chunk.content async for chunk in chunks if chunk is not None])

    return {"whole": lambda text: asyncio.run(whole(text)), "stream": lambda text: asyncio.run(stream(text))}
