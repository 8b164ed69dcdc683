import aisuite


def connect(base_url, key, model):
    client = aisuite.Client({"openai": {"api_key": key, "base_url": base_url, "max_retries": 0}})

    def ask(text, **more):
        messages = [{"role": "user", "content": text}]
        return client.chat.completions.create(model=f"openai:{model}", messages=messages, **more)

    def stream(text):
        return "".join(chunk.choices[0].delta.content or "" for chunk in ask(text, stream=True) if chunk.choices)

    return {
        "whole": lambda text: ask(text).choices[0].message.content,
        "stream": stream,
        "thoughts": lambda text: ask(text).choices[0].message.reasoning_content,
    }
