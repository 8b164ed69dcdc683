from openai import OpenAI


def connect(base_url, key, model):
    client = OpenAI(base_url=base_url, api_key=key, max_retries=0)

    def ask(text, **more):
        return client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)

    def stream(text):
        return "".join(chunk.choices[0].delta.content or "" for chunk in ask(text, stream=True) if chunk.choices)

    return {"whole": lambda text: ask(text).choices[0].message.content, "stream": stream}
