from langchain_openai import ChatOpenAI


def connect(base_url, key, model):
    chat = ChatOpenAI(model=model, base_url=base_url, api_key=key, max_retries=0)
    return {
        "whole": lambda text: chat.invoke(text).content,
        "stream": lambda text: "".join(chunk.content for chunk in chat.stream(text)),
    }
