"""Asks a service with one client library, and prints what its user gets, as JSON.

Usage: clients.py LIBRARY BASE_URL KEY MODEL
"""

import importlib
import json
import os
import sys

# Libraries report to their makers unless they are told not to.
os.environ.update(
    AGNO_TELEMETRY="false",
    DO_NOT_TRACK="1",
    HAYSTACK_TELEMETRY_ENABLED="False",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)


def outcome(act, text):
    try:
        return {"said": act(text)}
    except Exception as error:  # What a user sees is the class.
        return {"error": type(error).__name__}


library, *place = sys.argv[1:]
client = importlib.import_module(f"libraries.{library.replace('-', '_')}").connect(*place)
whole, stream = client["whole"], client["stream"]
outcomes = {
    "whole": outcome(whole, "hi"),
    "streamed": outcome(stream, "hi there"),
    "broken": outcome(stream, "break off"),
    "failed": outcome(whole, "fail 502"),
    "tooLong": outcome(whole, "word " * 20_000),
}
if "thoughts" in client:
    outcomes["thoughts"] = outcome(client["thoughts"], "think aloud")
# On a line of its own, because a library may print, too.
print(f"\n{json.dumps(outcomes)}")
