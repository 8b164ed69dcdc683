from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.run.agent import RunErrorEvent
from agno.run.base import RunStatus


class RunFailed(Exception):
    """Agno raises nothing: it says in the run that it failed."""


def connect(base_url, key, model):
    agent = Agent(model=OpenAILike(id=model, api_key=key, base_url=base_url, max_retries=0), telemetry=False)

    def run(text):
        output = agent.run(text)
        if output.status == RunStatus.error:
            raise RunFailed(output.content)
        return output

    def stream(text):
        pieces = []
        for event in agent.run(text, stream=True):
            if isinstance(event, RunErrorEvent):
                raise RunFailed(event.content)
            pieces.append(event.content or "")
        return "".join(pieces)

    return {
        "whole": lambda text: run(text).content,
        "stream": stream,
        "thoughts": lambda text: run(text).reasoning_content,
    }
