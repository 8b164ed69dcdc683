from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike


def connect(base_url, key, model):
    chat = OpenAILike(model=model, api_base=base_url, api_key=key, is_chat_model=True, max_retries=0)

    def messages(text):
        return [ChatMessage(role="user", content=text)]

    return {
        "whole": lambda text: chat.chat(messages(text)).message.content,
        "stream": lambda text: "".join(chunk.delta or "" for chunk in chat.stream_chat(messages(text))),
    }
