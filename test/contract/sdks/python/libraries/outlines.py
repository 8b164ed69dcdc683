import outlines
from openai import OpenAI


def connect(base_url, key, model):
    chat = outlines.from_openai(OpenAI(base_url=base_url, api_key=key, max_retries=0), model)
    return {"whole": chat, "stream": lambda text: "".join(chat.stream(text))}
