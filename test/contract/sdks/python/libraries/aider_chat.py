import re

from aider.coders import Coder
from aider.io import InputOutput
from aider.models import Model


def connect(base_url, key, model):
    def ask(text, stream):
        chat = Model(f"openai/{model}")
        chat.extra_params = {"api_base": base_url, "api_key": key, "max_retries": 0}
        io = InputOutput(pretty=False, yes=True)
        coder = Coder.create(main_model=chat, edit_format="ask", io=io, use_git=False, stream=stream)
        # Not `run`, which tries again for a minute.
        for _ in coder.send([{"role": "user", "content": text}]):
            pass
        return coder

    def thoughts(text):
        # Aider shows reasoning between tags of its own.
        return re.search(r"<thinking-\S+?>(.*)</thinking", ask(text, True).partial_response_content, re.DOTALL)[1].strip()

    return {
        "whole": lambda text: ask(text, False).partial_response_content,
        "stream": lambda text: ask(text, True).partial_response_content,
        "thoughts": thoughts,
    }
