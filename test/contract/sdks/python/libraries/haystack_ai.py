from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret


def connect(base_url, key, model):
    def ask(text, callback=None):
        chat = OpenAIChatGenerator(
            model=model,
            api_base_url=base_url,
            api_key=Secret.from_token(key),
            max_retries=0,
            streaming_callback=callback,
        )
        return chat.run([ChatMessage.from_user(text)])["replies"][0].text

    return {"whole": ask, "stream": lambda text: ask(text, lambda chunk: None)}
