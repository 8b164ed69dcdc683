from magentic import OpenaiChatModel, StreamedStr, prompt


def connect(base_url, key, model):
    chat = OpenaiChatModel(model, base_url=base_url, api_key=key)

    @prompt("{text}", model=chat)
    def whole(text: str) -> str: ...

    @prompt("{text}", model=chat)
    def stream(text: str) -> StreamedStr: ...

    return {"whole": whole, "stream": lambda text: "".join(stream(text))}
