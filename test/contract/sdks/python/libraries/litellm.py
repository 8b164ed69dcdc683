import litellm


def connect(base_url, key, model):
    def ask(text, **more):
        return litellm.completion(
            model=f"openai/{model}",
            api_base=base_url,
            api_key=key,
            messages=[{"role": "user", "content": text}],
            num_retries=0,
            max_retries=0,
            **more,
        )

    return {
        "whole": lambda text: ask(text).choices[0].message.content,
        "stream": lambda text: "".join(chunk.choices[0].delta.content or "" for chunk in ask(text, stream=True)),
        "thoughts": lambda text: ask(text).choices[0].message.reasoning_content,
    }
