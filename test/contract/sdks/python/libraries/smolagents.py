from smolagents import OpenAIServerModel


def connect(base_url, key, model):
    chat = OpenAIServerModel(model_id=model, api_base=base_url, api_key=key, client_kwargs={"max_retries": 0})

    def messages(text):
        return [{"role": "user", "content": [{"type": "text", "text": text}]}]

    return {
        "whole": lambda text: chat.generate(messages(text)).content,
        "stream": lambda text: "".join(delta.content or "" for delta in chat.generate_stream(messages(text))),
        "thoughts": lambda text: chat.generate(messages(text)).raw.choices[0].message.reasoning_content,
    }
