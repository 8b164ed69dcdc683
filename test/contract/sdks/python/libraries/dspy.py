import dspy


class Plain(dspy.Adapter):
    """Sends the question as it is, without DSPy's own prompt."""

    def format(self, signature, demos, inputs):
        return [{"role": "user", "content": inputs["question"]}]

    def parse(self, signature, completion):
        return {"answer": completion}


def connect(base_url, key, model):
    lm = dspy.LM(f"openai/{model}", api_base=base_url, api_key=key, num_retries=0, cache=False)
    dspy.configure(lm=lm, adapter=Plain())
    program = dspy.Predict("question -> answer")

    def stream(text):
        chunks = dspy.streamify(program, async_streaming=False)(question=text)
        return "".join(
            chunk.choices[0].delta.content or "" for chunk in chunks if not isinstance(chunk, dspy.Prediction)
        )

    def thoughts(text):
        [answer] = lm(messages=[{"role": "user", "content": text}])
        return answer["reasoning_content"]

    return {"whole": lambda text: program(question=text).answer, "stream": stream, "thoughts": thoughts}
