from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph


def connect(base_url, key, model):
    chat = ChatOpenAI(model=model, base_url=base_url, api_key=key, max_retries=0)
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_edge(START, "answer")
    compiled = graph.compile()

    def state(text):
        return {"messages": [{"role": "user", "content": text}]}

    return {
        "whole": lambda text: compiled.invoke(state(text))["messages"][-1].content,
        "stream": lambda text: "".join(
            chunk.content for chunk, _ in compiled.stream(state(text), stream_mode="messages")
        ),
    }
